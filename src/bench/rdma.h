// The RDMA engines as they run on the two nodes: what an agent is asked and what it answers. Everything that
// the two ends must know of each other (queue pairs, keys, GIDs) travels through the controller; no socket is
// opened between them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "bench/gid_choice.h"
#include "facts/measurement.h"

namespace railbed {

inline constexpr std::string_view kRdmaOpen = "bench.rdma.open";          // RdmaOpen → RdmaOpened
inline constexpr std::string_view kRdmaConnect = "bench.rdma.connect";    // RdmaConnect → RdmaDone
inline constexpr std::string_view kRdmaPrepare = "bench.rdma.prepare";    // RdmaRun → RdmaDone
inline constexpr std::string_view kRdmaWrite = "bench.rdma.write";        // RdmaRun → RdmaWritten
inline constexpr std::string_view kRdmaCheck = "bench.rdma.check";        // RdmaCheck → RdmaChecked
inline constexpr std::string_view kRdmaPing = "bench.rdma.ping";          // RdmaRun → RdmaPinged
inline constexpr std::string_view kRdmaEcho = "bench.rdma.echo";          // RdmaRun → RdmaDone
inline constexpr std::string_view kRdmaWatch = "bench.rdma.watch";        // RdmaSessionName → RdmaDone
inline constexpr std::string_view kRdmaCounters = "bench.rdma.counters";  // RdmaSessionName → RdmaCounters
inline constexpr std::string_view kRdmaClose = "bench.rdma.close";        // RdmaSessionName → RdmaDone

struct RdmaOpen {
  std::string interface;         // of the rail
  std::uint64_t half_bytes = 0;  // memory to send from, and as much to receive into
  int queue_pairs = 1;
  int depth = 128;
  static constexpr auto fields() {
    return std::tuple{field("interface", &RdmaOpen::interface), field("half_bytes", &RdmaOpen::half_bytes),
                      field("queue_pairs", &RdmaOpen::queue_pairs), field("depth", &RdmaOpen::depth)};
  }
};

struct QueuePairName {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // packet sequence number it starts to send with
  static constexpr auto fields() {
    return std::tuple{field("number", &QueuePairName::number), field("psn", &QueuePairName::psn)};
  }
};

// One end, as the other has to know it.
struct RdmaEnd {
  std::vector<QueuePairName> queue_pairs;
  std::uint64_t address = 0;  // of the half that is written to
  std::uint32_t key = 0;
  int lid = 0;
  static constexpr auto fields() {
    return std::tuple{field("queue_pairs", &RdmaEnd::queue_pairs), field("address", &RdmaEnd::address),
                      field("key", &RdmaEnd::key), field("lid", &RdmaEnd::lid)};
  }
};

struct RdmaOpened {
  std::string session;
  std::string device;  // mlx5_0
  int port = 1;
  std::string link_layer;  // Ethernet, InfiniBand
  int active_mtu = 0;
  int inline_bytes = 0;  // largest message that needs no buffer
  RdmaEnd end;
  std::vector<GidOffer> gids;
  std::optional<Failure> failure;
  static constexpr auto fields() {
    return std::tuple{field("session", &RdmaOpened::session),
                      field("device", &RdmaOpened::device),
                      field("port", &RdmaOpened::port),
                      field("link_layer", &RdmaOpened::link_layer),
                      field("active_mtu", &RdmaOpened::active_mtu),
                      field("inline_bytes", &RdmaOpened::inline_bytes),
                      field("end", &RdmaOpened::end),
                      field("gids", &RdmaOpened::gids),
                      field("failure", &RdmaOpened::failure)};
  }
};

struct RdmaConnect {
  std::string session;
  std::string peer;  // the other node's name, for complaints
  RdmaEnd end;       // the other's
  int mtu = 1024;
  int gid_index = -1;  // this end's; -1: InfiniBand by LID
  IpAddress gid;       // the other's
  int traffic_class = 0;
  static constexpr auto fields() {
    return std::tuple{field("session", &RdmaConnect::session),
                      field("peer", &RdmaConnect::peer),
                      field("end", &RdmaConnect::end),
                      field("mtu", &RdmaConnect::mtu),
                      field("gid_index", &RdmaConnect::gid_index),
                      field("gid", &RdmaConnect::gid),
                      field("traffic_class", &RdmaConnect::traffic_class)};
  }
};

struct RdmaRun {
  std::string session;
  std::uint64_t message_bytes = 0;
  double warmup = 0;
  double seconds = 0;
  std::uint64_t seed = 0;
  static constexpr auto fields() {
    return std::tuple{field("session", &RdmaRun::session), field("message_bytes", &RdmaRun::message_bytes),
                      field("warmup", &RdmaRun::warmup), field("seconds", &RdmaRun::seconds),
                      field("seed", &RdmaRun::seed)};
  }
};

struct RdmaWritten {
  std::vector<double> intervals;  // bits per second, 100 ms each, by acknowledged messages
  double seconds = 0;
  std::uint64_t bytes = 0;  // in the measured time
  double cpu_seconds = 0;
  std::vector<std::uint64_t> messages;  // of each queue pair, warm-up included
  std::optional<Failure> failure;
  static constexpr auto fields() {
    return std::tuple{
        field("intervals", &RdmaWritten::intervals), field("seconds", &RdmaWritten::seconds),
        field("bytes", &RdmaWritten::bytes),         field("cpu_seconds", &RdmaWritten::cpu_seconds),
        field("messages", &RdmaWritten::messages),   field("failure", &RdmaWritten::failure)};
  }
};

struct RdmaCheck {
  std::string session;
  RdmaRun run;
  std::vector<std::uint64_t> messages;  // as RdmaWritten says
  static constexpr auto fields() {
    return std::tuple{field("session", &RdmaCheck::session), field("run", &RdmaCheck::run),
                      field("messages", &RdmaCheck::messages)};
  }
};

struct RdmaChecked {
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  static constexpr auto fields() {
    return std::tuple{field("checked_bytes", &RdmaChecked::checked_bytes),
                      field("wrong_bytes", &RdmaChecked::wrong_bytes)};
  }
};

struct RdmaPinged {
  Summary summary;
  double seconds = 0;
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  static constexpr auto fields() {
    return std::tuple{field("summary", &RdmaPinged::summary), field("seconds", &RdmaPinged::seconds),
                      field("checked_bytes", &RdmaPinged::checked_bytes),
                      field("wrong_bytes", &RdmaPinged::wrong_bytes), field("failure", &RdmaPinged::failure)};
  }
};

struct RdmaSessionName {
  std::string session;
  static constexpr auto fields() { return std::tuple{field("session", &RdmaSessionName::session)}; }
};

struct RdmaDone {
  std::optional<Failure> failure;
  static constexpr auto fields() { return std::tuple{field("failure", &RdmaDone::failure)}; }
};

// What the port counts: packets sent, and every event that tells of trouble.
struct RdmaCounters {
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;  // packets that this end noticed to be lost
  std::map<std::string, std::uint64_t> troubles;
  static constexpr auto fields() {
    return std::tuple{field("packets", &RdmaCounters::packets), field("lost", &RdmaCounters::lost),
                      field("troubles", &RdmaCounters::troubles)};
  }
};

}  // namespace railbed

// The RDMA engines as they run on the two nodes: what an agent is asked and what it answers. Everything that
// the two ends must know of each other (queue pairs, keys, GIDs) travels through the controller; no socket is
// opened between them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "bench/core/pair.h"
#include "bench/verbs/gid_choice.h"
#include "results/measurement.h"

namespace railbed {

inline constexpr std::string_view kRdmaOpen = "bench.rdma.open";          // RdmaOpen → RdmaOpened
inline constexpr std::string_view kRdmaConnect = "bench.rdma.connect";    // RdmaConnect → RdmaDone
inline constexpr std::string_view kRdmaPrepare = "bench.rdma.prepare";    // RdmaRun → RdmaDone
inline constexpr std::string_view kRdmaTransfer = "bench.rdma.transfer";  // RdmaRun → RdmaTransferred
inline constexpr std::string_view kRdmaReceive = "bench.rdma.receive";    // RdmaRun → RdmaTransferred
inline constexpr std::string_view kRdmaCheck = "bench.rdma.check";        // RdmaCheck → RdmaChecked
inline constexpr std::string_view kRdmaPing = "bench.rdma.ping";          // RdmaRun → RdmaPinged
inline constexpr std::string_view kRdmaEcho = "bench.rdma.echo";          // RdmaRun → RdmaDone
inline constexpr std::string_view kRdmaFinish = "bench.rdma.finish";      // RdmaFinish → RdmaDone
inline constexpr std::string_view kRdmaWatch = "bench.rdma.watch";        // RdmaSessionName → RdmaDone
inline constexpr std::string_view kRdmaCounters = "bench.rdma.counters";  // RdmaSessionName → RdmaCounters
inline constexpr std::string_view kRdmaClose = "bench.rdma.close";        // RdmaSessionName → RdmaDone

// How an adapter reaches the memory that messages lie in.
enum class MemoryRoute {
  kHost,        // host memory
  kDmaBuf,      // GPU memory: ibv_reg_dmabuf_mr
  kPeerMemory,  // GPU memory: ibv_reg_mr, with nvidia-peermem
  kStaged,      // it does not: messages are copied between GPU and host memory on their way
};
constexpr auto enum_names(MemoryRoute) {
  return std::array<std::string_view, 4>{"host", "DMA-BUF", "nvidia-peermem", "staged"};
}

constexpr std::string_view to_text(MemoryRoute route) {
  return enum_names(route)[static_cast<std::size_t>(route)];
}

struct RdmaOpen {
  std::string interface;         // of the rail
  std::uint64_t half_bytes = 0;  // memory to send from, and as much to receive into
  int queue_pairs = 1;
  int depth = 128;         // messages under way on each
  int slots = 128;         // places in memory that a queue pair's messages take in turn, if they fit
  bool datagrams = false;  // unreliable datagrams (UD); else reliable connections (RC)
  int threads = 1;         // that move data, queue pairs shared out among them
  std::string gpu;         // PCI address of the one whose memory it is; empty: host memory
  bool here = false;       // open it in this very process, although CUDA may hang
  FIELDS(RdmaOpen, interface, half_bytes, queue_pairs, depth, slots, datagrams, threads, gpu, here);
};

struct QueuePairName {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // packet sequence number it starts to send with
  FIELDS(QueuePairName, number, psn);
};

// One end, as the other has to know it.
struct RdmaEnd {
  std::vector<QueuePairName> queue_pairs;
  std::uint64_t address = 0;  // of the half that is written to
  std::uint64_t source = 0;   // of the half that is read from
  std::uint32_t key = 0;
  int reads = 1;  // that it answers at once, on each queue pair
  int lid = 0;
  FIELDS(RdmaEnd, queue_pairs, address, source, key, reads, lid);
};

struct RdmaOpened {
  std::string session;
  std::string device;  // mlx5_0
  int port = 1;
  std::string link_layer;  // Ethernet, InfiniBand
  int active_mtu = 0;
  int inline_bytes = 0;  // largest message that needs no buffer
  bool huge_pages = false;
  MemoryRoute route = MemoryRoute::kHost;
  std::vector<std::string> refusals;  // of better routes
  RdmaEnd end;
  std::vector<GidOffer> gids;
  std::optional<Failure> failure;
  FIELDS(RdmaOpened, session, device, port, link_layer, active_mtu, inline_bytes, huge_pages, route, refusals,
         end, gids, failure);
};

struct RdmaConnect {
  std::string session;
  std::string peer;  // the other node's name, for complaints
  RdmaEnd end;       // the other's
  int mtu = 1024;
  int gid_index = -1;  // this end's; -1: InfiniBand by LID
  IpAddress gid;       // the other's
  // Queue pairs take these in turn. No flow labels: each gets one of its own.
  std::vector<int> traffic_classes;
  std::vector<int> flow_labels;
  FIELDS(RdmaConnect, session, peer, end, mtu, gid_index, gid, traffic_classes, flow_labels);
};

struct RdmaRun {
  std::string session;
  RdmaOperation operation = RdmaOperation::kWrite;
  std::uint64_t message_bytes = 0;
  double warmup = 0;
  double seconds = 0;
  std::uint64_t seed = 0;
  std::uint64_t pings = 0;  // of a ping: so many at most, each of them told; 0: as many as fit in the time
  FIELDS(RdmaRun, session, operation, message_bytes, warmup, seconds, seed, pings);
};

// What one end moved: it wrote, read, sent or received.
struct RdmaTransferred {
  std::vector<double> intervals;  // bits per second, 100 ms each, by completed messages
  double seconds = 0;
  std::uint64_t bytes = 0;  // in the measured time
  double cpu_seconds = 0;
  std::vector<std::uint64_t> messages;  // of each queue pair, warm-up included
  std::uint64_t checked_bytes = 0;      // of datagrams, as they arrived
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  FIELDS(RdmaTransferred, intervals, seconds, bytes, cpu_seconds, messages, checked_bytes, wrong_bytes,
         failure);
};

// The active end is through: what the other may still wait for. Ends its receive or echo.
struct RdmaFinish {
  std::string session;
  std::vector<std::uint64_t> messages;  // as RdmaTransferred says; empty: wait for nothing
  FIELDS(RdmaFinish, session, messages);
};

struct RdmaCheck {
  std::string session;
  RdmaRun run;
  std::vector<std::uint64_t> messages;  // as RdmaTransferred says
  FIELDS(RdmaCheck, session, run, messages);
};

struct RdmaChecked {
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  FIELDS(RdmaChecked, checked_bytes, wrong_bytes);
};

inline constexpr std::uint64_t kMostRoundTrips = 4096;

struct RdmaPinged {
  Summary summary;
  double seconds = 0;
  std::uint64_t lost = 0;  // datagrams that brought no answer
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::vector<std::uint64_t> round_trips;  // ns, where the run says how many; at most kMostRoundTrips
  std::optional<Failure> failure;
  FIELDS(RdmaPinged, summary, seconds, lost, checked_bytes, wrong_bytes, round_trips, failure);
};

struct RdmaSessionName {
  std::string session;
  FIELDS(RdmaSessionName, session);
};

struct RdmaDone {
  std::optional<Failure> failure;
  FIELDS(RdmaDone, failure);
};

// What the port counts: packets, and every event that tells of trouble.
struct RdmaCounters {
  std::uint64_t packets = 0;   // sent
  std::uint64_t received = 0;  // packets
  std::uint64_t lost = 0;      // packets that this end noticed to be lost
  std::map<std::string, std::uint64_t> troubles;
  FIELDS(RdmaCounters, packets, received, lost, troubles);
};

}  // namespace railbed

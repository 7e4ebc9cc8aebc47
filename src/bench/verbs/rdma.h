// The RDMA engines as they run on the two nodes: the requests to an agent and its replies. All data that the
// two ends need of each other (queue pairs, keys, GIDs) goes through the controller; no socket is opened
// between them.
//
// One measurement: open and connect both ends, prepare both, then run. For writes and reads the active end
// runs "transfer" while the other runs "watch"; for sends and datagrams the other runs "receive" until
// "finish". Then the receiving end runs "check", except after datagrams, which it checks on arrival. For
// latency one end runs "ping" while the other runs "echo" until "finish". "close" ends the session.
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

// The way in which an adapter reaches the memory of the messages.
enum class MemoryRoute {
  kHost,        // host memory
  kDmaBuf,      // GPU memory: ibv_reg_dmabuf_mr
  kPeerMemory,  // GPU memory: ibv_reg_mr, with nvidia-peermem
  kStaged,      // GPU memory that it does not reach: messages are copied through host memory
};
constexpr auto enum_names(MemoryRoute) {
  return std::array<std::string_view, 4>{"host", "DMA-BUF", "nvidia-peermem", "staged"};
}

constexpr std::string_view to_text(MemoryRoute route) {
  return enum_names(route)[static_cast<std::size_t>(route)];
}

struct RdmaOpen {
  std::string interface;         // of the rail
  std::uint64_t half_bytes = 0;  // bytes to send from, and the same number to receive into
  int queue_pairs = 1;
  int depth = 128;         // messages in flight on each queue pair
  int slots = 128;         // places in memory that a queue pair's messages take in turn, if they fit
  bool datagrams = false;  // unreliable datagrams (UD); else reliable connections (RC)
  int threads = 1;         // that move data; the queue pairs are divided among them
  std::string gpu;         // PCI address of the GPU that has the memory; empty: host memory
  bool here = false;       // open it in this process, although CUDA may hang
  FIELDS(RdmaOpen, interface, half_bytes, queue_pairs, depth, slots, datagrams, threads, gpu, here);
};

struct QueuePairName {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  // packet sequence number of the first packet that it sends
  FIELDS(QueuePairName, number, psn);
};

// The data of one end that the other end needs.
struct RdmaEnd {
  std::vector<QueuePairName> queue_pairs;
  std::uint64_t address = 0;  // of the half that the other end writes to
  std::uint64_t source = 0;   // of the half that the other end reads from
  std::uint32_t key = 0;
  int reads = 1;  // RDMA reads that it serves at the same time on each queue pair
  int lid = 0;
  FIELDS(RdmaEnd, queue_pairs, address, source, key, reads, lid);
};

struct RdmaOpened {
  std::string session;
  std::string device;  // mlx5_0
  int port = 1;
  std::string link_layer;  // Ethernet, InfiniBand
  int active_mtu = 0;
  int inline_bytes = 0;  // the largest message that can be sent inline
  bool huge_pages = false;
  MemoryRoute route = MemoryRoute::kHost;
  std::vector<std::string> refusals;  // why better routes are not possible
  RdmaEnd end;
  std::vector<GidOffer> gids;
  std::optional<Failure> failure;
  FIELDS(RdmaOpened, session, device, port, link_layer, active_mtu, inline_bytes, huge_pages, route, refusals,
         end, gids, failure);
};

struct RdmaConnect {
  std::string session;
  std::string peer;  // the other node's name, for error messages
  RdmaEnd end;       // the other end
  int mtu = 1024;
  int gid_index = -1;  // this end's; -1: InfiniBand by LID
  IpAddress gid;       // the other end's
  // Queue pairs take these in turn. Without flow labels each gets one of its own.
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
  // For a ping, the largest number of round trips, whose times are all returned. 0: only the time limits them.
  std::uint64_t pings = 0;
  FIELDS(RdmaRun, session, operation, message_bytes, warmup, seconds, seed, pings);
};

// The messages that one end moved: it wrote, read, sent or received them.
struct RdmaTransferred {
  std::vector<double> intervals;  // bits per second, 100 ms each, by completed messages
  double seconds = 0;
  std::uint64_t bytes = 0;  // in the measured time
  double cpu_seconds = 0;
  std::vector<std::uint64_t> messages;  // number of each queue pair's, warm-up included
  std::uint64_t checked_bytes = 0;      // of datagrams, which are checked on arrival
  std::uint64_t wrong_bytes = 0;
  std::optional<Failure> failure;
  FIELDS(RdmaTransferred, intervals, seconds, bytes, cpu_seconds, messages, checked_bytes, wrong_bytes,
         failure);
};

// Sent when the active end has finished: sets the number of messages to wait for, and ends the other end's
// receive or echo.
struct RdmaFinish {
  std::string session;
  std::vector<std::uint64_t> messages;  // of RdmaTransferred; empty: wait for none
  FIELDS(RdmaFinish, session, messages);
};

struct RdmaCheck {
  std::string session;
  RdmaRun run;
  std::vector<std::uint64_t> messages;  // of RdmaTransferred
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
  std::uint64_t lost = 0;  // datagrams without a reply
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  std::vector<std::uint64_t> round_trips;  // ns, if the run sets `pings`; at most kMostRoundTrips
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

// The counters of a port: packets, and every event that points to a problem.
struct RdmaCounters {
  std::uint64_t packets = 0;   // sent
  std::uint64_t received = 0;  // packets
  std::uint64_t lost = 0;      // packets whose loss this end noticed
  std::map<std::string, std::uint64_t> troubles;
  FIELDS(RdmaCounters, packets, received, lost, troubles);
};

}  // namespace railbed

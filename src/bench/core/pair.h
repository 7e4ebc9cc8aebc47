// A pair: two nodes on one rail, and the plan of the measurements between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/peer.h"
#include "results/measurement.h"

namespace railbed {

struct Facts;

// One end of the rail that is measured.
struct PairEnd {
  Peer* peer = nullptr;
  std::string interface;
  std::optional<IpAddress> address;   // TCP needs it
  const Facts* facts = nullptr;       // for ceiling and floor; null: neither is computed
  std::optional<bool> switched = {};  // true: its cable ends at a switch; empty: unknown
};

// Returns whether the end has an address by which IP reaches it from another node. A link-local one needs an interface, too.
inline bool has_ip(const PairEnd& end) { return end.address && !end.address->is_link_local(); }

// Returns the end as a measurement names it.
inline Endpoint endpoint_of(const PairEnd& end) {
  return {end.peer->node(), end.interface, "", end.address ? end.address->to_text() : "", -1};
}

// The RDMA operations that move bytes. For sends and datagrams the other end must take part (receive, echo);
// writes and reads do not involve its processor.
enum class RdmaOperation { kWrite, kRead, kSend, kDatagram };
constexpr auto enum_names(RdmaOperation) {
  return std::array<std::string_view, 4>{"write", "read", "send", "datagram"};
}
constexpr bool has_receiver(RdmaOperation operation) {
  return operation == RdmaOperation::kSend || operation == RdmaOperation::kDatagram;
}

struct BenchPlan {
  std::vector<Engine> engines = {Engine::kTcp, Engine::kRdma};
  bool bandwidth = true;
  bool latency = true;
  std::vector<std::uint64_t> sizes;  // messages of bandwidth runs; empty: the engine's usual ones
  std::vector<std::uint64_t> latency_sizes = {8};
  double seconds = 3;  // measured time for each number, after the warm-up
  double warmup = 0.5;
  int streams = 0;         // TCP connections or queue pairs; 0: the engine's usual number
  bool both_ways = false;  // bandwidth from b to a too, after the one from a to b
  bool duplex = false;     // both directions at once, and their sum
  // TCP:
  bool busy_poll = false;  // latency without ever sleeping
  bool zero_copy = false;  // bandwidth without a copy at the sender
  // RDMA:
  std::vector<RdmaOperation> operations = {RdmaOperation::kWrite};
  std::vector<int> traffic_classes;  // of RoCE: the ToS byte, 104 = DSCP 26; queue pairs take them in turn
  std::vector<int> flow_labels;      // of RoCE; queue pairs take them in turn; empty: each has its own
  std::uint64_t working_set = 0;     // bytes that messages are sent from; 0: what fits into a cache
  int threads = 1;                   // of bandwidth runs, at each end; at most the number of queue pairs
  std::string memory = "host";  // at both ends, see is_memory() in verbs/gpu_choice.h; a GPU: bandwidth only
};

// Receives a description of the measurement that begins: "tcp bandwidth gpu01 → gpu02, 256 KiB".
using OnMeasuring = std::function<void(std::string_view)>;

}  // namespace railbed

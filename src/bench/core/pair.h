// A pair: two nodes on one rail, and what is to be measured between them.
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
  const Facts* facts = nullptr;       // for ceiling and floor; without them none is stated
  std::optional<bool> switched = {};  // whether its cable ends at a switch; nothing: it is not known
};

// How RDMA moves bytes. Sends need the other end's part (receive, echo); of writes and reads it knows
// nothing.
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
  double seconds = 3;  // measured, for each number
  double warmup = 0.5;
  int streams = 0;         // TCP connections, queue pairs; 0: as many as the engine usually has
  bool both_ways = false;  // bandwidth from b to a too, after the one from a to b
  bool duplex = false;     // both directions at once, and their sum
  // TCP:
  bool busy_poll = false;  // latency without ever sleeping
  bool zero_copy = false;  // bandwidth without a copy at the sender
  // RDMA:
  std::vector<RdmaOperation> operations = {RdmaOperation::kWrite};
  std::vector<int> traffic_classes;  // of RoCE, queue pairs take them in turn: the ToS byte, 104 = DSCP 26
  std::vector<int> flow_labels;      // the same; empty: each queue pair has one of its own
  std::uint64_t working_set = 0;     // bytes that messages are sent from; 0: what a cache holds
  int threads = 1;                   // of bandwidth, at each end; at most as many as queue pairs count
  std::string memory = "host";  // of both ends: is_memory() of verbs/gpu_choice.h. Of GPUs bandwidth only
};

// What is measured now: "tcp bandwidth gpu01 → gpu02, 256 KiB".
using OnMeasuring = std::function<void(std::string_view)>;

}  // namespace railbed

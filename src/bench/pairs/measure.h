// Measuring a pair of nodes: the controller's side of the engines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/peer.h"
#include "bench/verbs/rdma.h"
#include "results/measurement.h"

namespace railbed {

struct Facts;

// One end of the rail that is measured.
struct PairEnd {
  Peer* peer = nullptr;
  std::string interface;
  std::optional<IpAddress> address;  // TCP needs it
  const Facts* facts = nullptr;      // for the ceiling; without them none is stated
};

struct BenchPlan {
  std::vector<Engine> engines = {Engine::kTcp, Engine::kRdma};
  bool bandwidth = true;
  bool latency = true;
  std::vector<std::uint64_t> sizes;  // messages of bandwidth runs; empty: default_sizes()
  std::vector<std::uint64_t> latency_sizes = {8};
  double seconds = 3;  // measured, for each number
  double warmup = 0.5;
  int streams = 0;         // TCP connections, queue pairs; 0: default_streams()
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

std::vector<std::uint64_t> default_sizes(Engine engine);
// Every power of two that an engine takes.
std::vector<std::uint64_t> all_sizes(Engine engine);
int default_streams(Engine engine);

// What is measured now: "tcp bandwidth gpu01 → gpu02, 256 KiB".
using OnMeasuring = std::function<void(std::string_view)>;

// Bandwidth and latency between two nodes over one rail. Always answers, one Measurement a number, within the
// planned time and some seconds: what went wrong stands in its `failure`, with what was measured until then.
// After a failure an engine's remaining sizes of that metric are left out.
std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop);

// Puts first what the ends' own interfaces tell now. One that is down, or lost its address, is the cause of
// whatever the engines saw; one that only misses its carrier may do so because the other is down.
void blame_links(const std::vector<PairEnd>& ends, Failure& failure, const std::stop_token& stop);

}  // namespace railbed

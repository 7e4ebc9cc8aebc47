// What an engine measured, between two nodes or on one: one number with its spread, its ceiling and its
// circumstances.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "results/engine.h"

namespace railbed {

enum class Metric { kBandwidth, kLatency };
constexpr auto enum_names(Metric) { return std::array<std::string_view, 2>{"bandwidth", "latency"}; }

// Bandwidths are bits per second. Latencies are nanoseconds: of half a round trip between nodes, of one
// request to storage, of one training step, of one collective operation.
struct Summary {
  std::uint64_t samples = 0;
  double median = 0;
  double low = 0;  // 95 % confidence interval of the median, by order statistics
  double high = 0;
  double mean = 0;
  double minimum = 0;
  double maximum = 0;
  double deviation = 0;
  // Of latencies; zero for bandwidths.
  double p99 = 0;
  double p999 = 0;
  double p9999 = 0;
  FIELDS(Summary, samples, median, low, high, mean, minimum, maximum, deviation, p99, p999, p9999);
};

// One limit on the path: "wire at MTU 4096", "PCIe Gen3 x8 at 0000:02:00.0 of gpu01".
struct Limit {
  std::string name;
  BitRate rate;
  std::string source;  // where the figure comes from: a file, a table, arithmetic
  FIELDS(Limit, name, rate, source);
};

// All limits that could be computed, the binding (lowest) one first. Empty: the link states no speed.
struct Ceiling {
  std::vector<Limit> limits;
  std::string note;      // why there is none, or what makes it nominal (virtual interface)
  bool nominal = false;  // the speed is a virtual device's claim: shown, never judged
  FIELDS(Ceiling, limits, note, nominal);
};

// A part of the time that a message takes at least: "wire", "a switch", "PCIe of gpu01".
struct FloorPart {
  std::string name;
  Nanoseconds time{};
  std::string source;  // arithmetic, or where the figure is published
  FIELDS(FloorPart, name, time, source);
};

// The least that a message can take from one node to the other. Its parts follow each other, so they add up.
// Empty: none could be computed.
struct Floor {
  std::vector<FloorPart> parts;
  std::string note;  // why there is none, or what is not in it
  Nanoseconds time() const;
  FIELDS(Floor, parts, note);
};

// What a node's processors did besides while it was measured: programs that are not railbed's. What the
// kernel itself did is not in it, for most of that is the measurement's own packets.
struct OtherWork {
  int processors = 0;   // that the node has
  double busy = 0;      // of them
  std::string busiest;  // the program that took most: "python3 (pid 4711)"
  FIELDS(OtherWork, processors, busy, busiest);
};
// From this share of its processors on a node is busy. Ours: a sound path reaches 90 % of its ceiling, and
// other work may cost the tenth that is left.
inline constexpr double kBusyShare = 0.1;

struct Endpoint {
  std::string node;
  std::string interface;    // ens6
  std::string device;       // mlx4_0/1; empty for TCP
  std::string address;      // IP address used
  int gid_index = -1;       // RDMA on Ethernet
  std::string memory = {};  // of a GPU, and by which route: "GPU 0000:1b:00.0, DMA-BUF"; empty: host memory
  std::string memory_why = {};               // why not by a better route
  std::optional<OtherWork> other_work = {};  // nothing: it was not looked at, or could not be seen
  FIELDS(Endpoint, node, interface, device, address, gid_index, memory, memory_why, other_work);
};

bool is_busy(const Endpoint& end);
// "gpu02 was busy with other work: it took 1.0 of 2 processors, python3 (pid 4711) most of it"; empty: it was
// not.
std::string busy_text(const Endpoint& end);

// What logic tells failures apart by: their words are for people.
enum class FailureKind { kOther, kStopped, kClosed, kKilled, kNoMemory, kNoCuda, kNoNccl, kNoCublas };
constexpr auto enum_names(FailureKind) {
  return std::array<std::string_view, 8>{"other",     "stopped", "closed",  "killed",
                                         "no-memory", "no-cuda", "no-nccl", "no-cublas"};
}

// The layers of a path between two nodes, as a failed measurement is diagnosed: the lowest that does not work
// is the root. kNone: all that could be asked worked when it was asked.
enum class PathLayer {
  kNone,
  kInterface,
  kLink,
  kAddress,
  kRoute,
  kNeighbour,
  kFirewall,
  kMtu,
  kTcp,
  kUdp,
  kRdmaDevice,
  kGid
};
constexpr auto enum_names(PathLayer) {
  return std::array<std::string_view, 12>{"none",  "interface", "link",        "address",
                                          "route", "neighbour", "firewall",    "mtu",
                                          "tcp",   "udp",       "rdma-device", "gid"};
}

// What was found at the moment of a failure, of all failures that it explains the same.
struct FailureRoot {
  PathLayer layer = PathLayer::kNone;
  std::string node;               // whose side it is on; empty: between the two, or it cannot be told
  std::string cause;              // "b: rail is down"; empty where the layer is none
  std::vector<std::string> seen;  // what was asked, and what answered, a line each
  FIELDS(FailureRoot, layer, node, cause, seen);
};

// RDMA packets of a run, one way: what the one end's port counted as sent, the other's as received.
struct PacketWay {
  std::string from;  // the node that sent
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

// Why a measurement has no number, or why it ended early.
struct Failure {
  std::string stage;   // connect, run, verify
  std::string cause;   // "no answer over RDMA: transport retries exhausted (IBV_WC_RETRY_EXC_ERR)"
  std::string remedy;  // what to try next; may be empty
  // No part of what is shown or kept. Where an agent's failure decides something here, the answer that brings
  // it says its kind beside it.
  FailureKind kind = FailureKind::kOther;
  std::vector<PacketWay> packets = {};   // of RDMA, both ways; no part of what is shown or kept, either
  std::optional<FailureRoot> root = {};  // of failures between two nodes, once the path was looked at
  FIELDS(Failure, stage, cause, remedy, root);
};

inline Failure stopped_failure() { return {"run", "stopped on request", "", FailureKind::kStopped}; }

// The rail's name of what went over the network that nodes are reached by. No rail of cluster.yaml is called
// so: names have no spaces.
inline constexpr std::string_view kManagement = "management network";

struct Measurement {
  Engine engine = Engine::kTcp;
  Metric metric = Metric::kBandwidth;
  std::string operation;  // which of the engine's: "random read"; empty where an engine has only one
  std::string rail;       // empty of what needs none
  Endpoint from;          // the side that sends
  Endpoint to;
  std::uint64_t message_bytes = 0;
  int streams = 1;     // TCP connections or queue pairs
  int mtu = 0;         // path MTU in bytes: interface MTU for TCP, RDMA MTU for RDMA
  double seconds = 0;  // measured time, warm-up left out
  Summary summary;
  Ceiling ceiling;                  // of bandwidths
  Floor floor;                      // of latencies between two nodes
  std::uint64_t packets = 0;        // sent while measuring, where the transport counts them
  std::uint64_t lost = 0;           // retransmitted while measuring
  std::uint64_t checked_bytes = 0;  // payload compared with what was sent
  std::uint64_t wrong_bytes = 0;
  double cpu_seconds_per_gigabyte = 0;  // both ends together; 0 when not measured
  std::vector<double> intervals;        // bandwidth per 100 ms, for the sparkline
  std::map<std::string, std::int64_t>
      counter_deltas;  // "vm1 rxe0/1 completer_retry_err": what moved meanwhile
  std::optional<Failure> failure;
  FIELDS(Measurement, engine, metric, operation, rail, from, to, message_bytes, streams, mtu, seconds,
         summary, ceiling, floor, packets, lost, checked_bytes, wrong_bytes, cpu_seconds_per_gigabyte,
         intervals, counter_deltas, failure);
};

// The root that explains this measurement's failure; null where it has none, or none was found.
const FailureRoot* root_of(const Measurement& one);
// Whether one root explains both: the same cause on the same rail between the same two nodes, either way.
bool same_root(const Measurement& a, const Measurement& b);

// What was measured: engine, metric, operation, rail, nodes, size, streams. A view into the measurement.
using MeasuredSubject = std::tuple<Engine, Metric, std::string_view, std::string_view, std::string_view,
                                   std::string_view, std::uint64_t, int>;
MeasuredSubject measured_subject(const Measurement& one);
// Whether two measurements are of the same thing.
bool same_subject(const Measurement& a, const Measurement& b);

// One measurement for each subject that was measured several times: median of the medians, `low` and `high`
// the lowest and the highest of them, the rest of the first that has a number.
std::vector<Measurement> merge_repeats(const std::vector<Measurement>& measurements);

}  // namespace railbed

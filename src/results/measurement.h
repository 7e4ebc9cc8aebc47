// The result of an engine, between two nodes or on one: one number with its spread, its ceiling and its
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
  // For latencies; zero for bandwidths, and where another tool did not print them.
  double p99 = 0;
  double p999 = 0;
  double p9999 = 0;
  FIELDS(Summary, samples, median, low, high, mean, minimum, maximum, deviation, p99, p999, p9999);
};

// Returns the summary of one number, which shows nothing of its spread.
Summary single_number(double value);

// One limit on the path: "wire at MTU 4096", "PCIe Gen3 x8 at 0000:02:00.0 of gpu01".
struct Limit {
  std::string name;
  BitRate rate;
  std::string source;  // origin of the figure: a file, a table, arithmetic
  // The same at the worst of what is not known of the part; nullopt if that changes nothing.
  std::optional<BitRate> least = {};
  FIELDS(Limit, name, rate, source, least);
};

// All known limits, the binding (lowest) one first. Empty if the link states no speed.
struct Ceiling {
  std::vector<Limit> limits;
  std::string note;      // why there is no limit, or why it is nominal (virtual interface)
  bool nominal = false;  // the speed is claimed by a virtual device: shown, never judged
  FIELDS(Ceiling, limits, note, nominal);
};

// How the name of the wire's limit begins.
inline constexpr std::string_view kWireName = "wire, ";
// Returns the wire's limit, which points into the ceiling; null if it has none.
const Limit* find_wire(const Ceiling& ceiling);

// A part of the least time that a message takes: "wire", "a switch", "PCIe of gpu01".
struct FloorPart {
  std::string name;
  Nanoseconds time{};
  std::string source;  // arithmetic, or a publication of the figure
  FIELDS(FloorPart, name, time, source);
};

// The least time of a message from one node to the other. Its parts follow each other, so their times add up.
// Empty if none could be computed.
struct Floor {
  std::vector<FloorPart> parts;
  std::string note;  // why it is empty, or which parts are not in it
  Nanoseconds time() const;
  FIELDS(Floor, parts, note);
};

// Work of a node's processors for other programs than railbed during the measurement. Work of the kernel is
// not included, because most of it is for the measurement's own packets.
struct OtherWork {
  int processors = 0;   // of the node
  double busy = 0;      // number of processors that were busy
  std::string busiest;  // the program that took most: "python3 (pid 4711)"
  FIELDS(OtherWork, processors, busy, busiest);
};
// The share of its processors from which a node counts as busy. Our own choice: a sound path reaches 90 % of
// its ceiling, and other work may cost the remaining tenth.
inline constexpr double kBusyShare = 0.1;

// Bytes on the wire that crossed an end's interface or RDMA port during the measurement and were not the
// measurement's own. Its own are counted as the most that they can have been, so these are the least.
struct OtherTraffic {
  double seconds = 0;  // between the two looks at the counters
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  BitRate link;  // of the interface or port, each way; 0: not known, or only claimed by a virtual device
  FIELDS(OtherTraffic, seconds, sent, received, link);
};
// The shares of the link from which other traffic counts, and from which it may delay messages. Our own choices:
// less moves a bandwidth by no more than a repeat does, and lets nine messages of ten pass at once.
inline constexpr double kTrafficShare = 0.01;
inline constexpr double kDelayingShare = 0.1;

// Shares of the packets sent on a rail that were lost: noticeable (warning) and ruinous (failure). Our
// values: one resend window of RoCE in each second, or in each hundredth of a second, at 100 Gb/s.
inline constexpr double kLossWarns = 1e-6;
inline constexpr double kLossFails = 1e-4;
// The same limit for TCP, which loses some packets on every full link. Our value.
inline constexpr double kTcpLossWarns = 1e-2;

// One end of a measurement.
struct Endpoint {
  std::string node;
  std::string interface;        // ens6
  std::string device;           // mlx4_0/1; empty for TCP
  std::string address;          // IP address used
  int gid_index = -1;           // RDMA on Ethernet
  std::string memory = {};      // GPU and route: "GPU 0000:1b:00.0, DMA-BUF"; empty for host memory
  std::string memory_why = {};  // why no better route was used
  std::optional<OtherWork> other_work = {};        // nullopt if it was not or could not be observed
  std::optional<OtherTraffic> other_traffic = {};  // likewise
  FIELDS(Endpoint, node, interface, device, address, gid_index, memory, memory_why, other_work,
         other_traffic);
};

// Returns whether other work took at least kBusyShare of the node's processors.
bool is_busy(const Endpoint& end);
// Returns "gpu02 was busy with other work: it took 1.0 of 2 processors, python3 (pid 4711) most of it"; empty
// if it was not busy.
std::string busy_text(const Endpoint& end);

// Kinds of failures for code to decide by; the texts of a Failure are for people.
enum class FailureKind {
  kOther,
  kStopped,
  kClosed,
  kKilled,
  kNoMemory,
  kNoCuda,
  kNoNccl,
  kNoCublas,
  kNoRdmaCm,
  kNoRdmaDevice  // neither end has any: nothing is known of the path
};
constexpr auto enum_names(FailureKind) {
  return std::array<std::string_view, 10>{"other",   "stopped", "closed",    "killed",     "no-memory",
                                          "no-cuda", "no-nccl", "no-cublas", "no-rdma-cm", "no-rdma-device"};
}

// Returns whether nothing is known of the path, because there is nothing to measure it with.
constexpr bool could_not_look(FailureKind kind) {
  return kind == FailureKind::kNoRdmaCm || kind == FailureKind::kNoRdmaDevice;
}

// The layers of a path between two nodes, for the diagnosis of a failed measurement: the lowest layer that
// does not work is the root. kNone: all layers that could be tested worked at that moment.
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
  kGid,
  kRdmaCm
};
constexpr auto enum_names(PathLayer) {
  return std::array<std::string_view, 13>{"none",        "interface", "link",   "address", "route",
                                          "neighbour",   "firewall",  "mtu",    "tcp",     "udp",
                                          "rdma-device", "gid",       "rdma-cm"};
}

// The diagnosis at the moment of a failure. All failures that it explains have the same.
struct FailureRoot {
  PathLayer layer = PathLayer::kNone;
  std::string node;               // the side it is on; empty if it is between the two or unknown
  std::string cause;              // "b: rail is down"; empty if the layer is kNone
  std::vector<std::string> seen;  // the tests and their results, one per line
  FIELDS(FailureRoot, layer, node, cause, seen);
};

// RDMA packets of a run, one way: sent by the counters of one end's port, received by those of the other's.
struct PacketWay {
  std::string from;  // the node that sent
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

// The reason why a measurement has no number, or ended early.
struct Failure {
  std::string stage;   // connect, run, verify
  std::string cause;   // "no answer over RDMA: transport retries exhausted (IBV_WC_RETRY_EXC_ERR)"
  std::string remedy;  // what to try next; may be empty
  // Neither shown nor kept. If code decides by the failure of an agent, the reply that carries it has the
  // kind in a field of its own.
  FailureKind kind = FailureKind::kOther;
  std::vector<PacketWay> packets = {};   // RDMA packets, both ways; also neither shown nor kept
  std::optional<FailureRoot> root = {};  // for failures between two nodes, after the diagnosis
  FIELDS(Failure, stage, cause, remedy, root);
};

inline Failure stopped_failure() { return {"run", "stopped on request", "", FailureKind::kStopped}; }

// The rail name of measurements over the network through which nodes are reached. No rail of cluster.yaml has
// this name, because names have no spaces.
inline constexpr std::string_view kManagement = "management network";

// One measurement; see the head of this file.
struct Measurement {
  Engine engine = Engine::kTcp;
  Metric metric = Metric::kBandwidth;
  std::string operation;  // of the engine: "random read"; empty if the engine has only one
  std::string rail;       // empty if the measurement is not of a rail
  Endpoint from;          // the side that sends
  Endpoint to;
  std::uint64_t message_bytes = 0;  // 0 if unknown: another tool did not print it
  int streams = 1;                  // TCP connections or queue pairs; 0 if unknown
  int mtu = 0;                      // path MTU in bytes: interface MTU for TCP, RDMA MTU for RDMA
  double seconds = 0;               // measured time, warm-up left out
  Summary summary;
  Ceiling ceiling;                  // for bandwidths
  Floor floor;                      // for latencies between two nodes
  std::uint64_t packets = 0;        // sent during the measurement, if the transport counts them
  std::uint64_t lost = 0;           // retransmitted during the measurement
  std::uint64_t checked_bytes = 0;  // payload compared with the data sent
  std::uint64_t wrong_bytes = 0;
  double cpu_seconds_per_gigabyte = 0;  // both ends together; 0 if not measured
  std::vector<double> intervals;        // bandwidth per 100 ms, for the sparkline
  // Counters that moved during the measurement: "vm1 rxe0/1 completer_retry_err".
  std::map<std::string, std::int64_t> counter_deltas;
  std::optional<Failure> failure;
  FIELDS(Measurement, engine, metric, operation, rail, from, to, message_bytes, streams, mtu, seconds,
         summary, ceiling, floor, packets, lost, checked_bytes, wrong_bytes, cpu_seconds_per_gigabyte,
         intervals, counter_deltas, failure);
};

// Returns "2.3 GB of other traffic, 12 % of the link, crossed gpu01 ens6 meanwhile" for an end of the
// measurement; empty if less than kTrafficShare of the link crossed it, or if that is not known. If the link's
// rate is not known, the measurement's own rate takes its place.
std::string traffic_text(const Measurement& measurement, const Endpoint& end);
// Returns the same for both ends, joined; empty if neither end has such traffic.
std::string traffic_text(const Measurement& measurement);
// Returns the rate of the other traffic in the measurement's own direction, for both directions at once in
// both; 0 if it is less than kTrafficShare of the link.
BitRate traffic_on_the_way(const Measurement& measurement);
// Return whether other traffic can be why a bandwidth is below the wanted rate, or a latency high: the bandwidth
// would have reached that rate if the other traffic on its way had been its own; at least kDelayingShare of the
// link was taken. Then the number says nothing of the path.
bool may_lack_for_traffic(const Measurement& measurement, BitRate wanted);
bool may_be_late_for_traffic(const Measurement& measurement);

// Returns the root that explains this measurement's failure; null if it did not fail or no root was found.
const FailureRoot* root_of(const Measurement& measurement);
// Returns whether one root explains both failures: the same layer, node and cause on the same rail between
// the same two nodes, in either direction.
bool same_root(const Measurement& a, const Measurement& b);

// The subject of a measurement: engine, metric, operation, rail, nodes, size, streams. Its texts are views
// into the measurement, which must outlive it.
using MeasuredSubject = std::tuple<Engine, Metric, std::string_view, std::string_view, std::string_view,
                                   std::string_view, std::uint64_t, int>;
MeasuredSubject measured_subject(const Measurement& measurement);
// Returns whether two measurements have the same subject.
bool same_subject(const Measurement& a, const Measurement& b);

// Merges repeats: returns one measurement per subject, in the order of their first repeats. If several
// repeats have a number, it has the median of their medians, with `low` and `high` the lowest and the highest
// of them. All other members are those of the first repeat with a number; a failure of a later repeat is kept
// as well.
std::vector<Measurement> merge_repeats(const std::vector<Measurement>& measurements);

}  // namespace railbed

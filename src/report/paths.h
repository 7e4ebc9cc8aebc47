// Measurements arranged by path, TCP beside RDMA, for the text and the page.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// The engines of paths. Arrays with an entry for each engine are in this order.
inline constexpr std::array kEngines{Engine::kTcp, Engine::kRdma};
constexpr std::size_t place_of(Engine engine) {
  return static_cast<std::size_t>(std::ranges::find(kEngines, engine) - kEngines.begin());
}
std::string_view title(Engine engine);  // "TCP", "RDMA"

// One engine's measurements on a path. All pointers point into the measurements that paths_of() got.
struct EngineRuns {
  std::vector<const Measurement*> bandwidths;  // the fastest for each message size, sizes rising
  std::vector<const Measurement*> latencies;   // the lowest median for each message size, sizes rising
  std::vector<const Measurement*> failures;
  const Measurement* fastest() const;  // null without a bandwidth
};

// One rail from one node to another.
struct Path {
  std::string rail;
  std::string from;
  std::string to;
  std::array<EngineRuns, kEngines.size()> engines;
  const Measurement* ping = nullptr;  // the best ping; null if none was tried or none succeeded

  const EngineRuns& of(Engine engine) const { return engines[place_of(engine)]; }
  bool has_failure() const;
  std::vector<std::uint64_t> bandwidth_sizes() const;  // of either engine, rising
};

// Returns the run with messages of this size; null if there is none.
const Measurement* of_size(const std::vector<const Measurement*>& runs, std::uint64_t size);

// Sorts by urgency: failures first, then the least of two shares: of the path's own ceiling, and of the rate that most
// paths of the engine reach. A link that runs at half its speed has half the ceiling, and only the second share shows it.
// The first `shown` are from as many rails as possible, two paths of each at most: rails may differ by design, and one
// slow rail shall not hide another.
void put_worst_first(std::vector<Path>& paths, std::size_t shown);

// Returns the paths in the order of their first appearance.
std::vector<Path> paths_of(const std::vector<Measurement>& measurements);

// Returns the share of the binding limit that was reached; none if there is no limit or it is nominal.
std::optional<double> fraction_of_ceiling(const Measurement& measurement);

// Returns "91 % of 38.5 Gb/s, limited by the wire at MTU 2048"; "ceiling nominal 10.0 Gb/s (virtual
// interface): shown, not judged"; or why there is no ceiling.
std::string describe_ceiling(const Measurement& measurement);

// Returns "floor 0.21 µs (wire 16.8 ns + a switch 0.19 µs + PCIe of gpu01 3.81 ns)"; empty if there is no
// floor.
std::string describe_floor(const Measurement& measurement);

// Returns "connect: no answer over RDMA". The measurement must have failed.
std::string describe_failure(const Measurement& measurement);

// Remembers the roots of failures that were shown: several failures of one root are shown once.
class ToldRoots {
 public:
  // True if the failure's root was shown before; otherwise it counts as shown from now on. The measurement
  // must outlive this object.
  bool is_told(const Measurement& failed);

 private:
  std::vector<const Measurement*> told_;
};
inline constexpr std::string_view kSameRoot = "of the same root, above";

// Returns "12 of 4096 bytes arrived wrong", "41 of 90000 packets sent again", …; empty if there are none.
std::vector<std::string> remarks(const Measurement& measurement);

// Returns "0.12 ms, half a round trip of 56 B (median of 96)".
std::string ping_text(const Measurement& ping);

// The percentiles that are shown for latencies.
struct Percentile {
  std::string_view name;
  double Summary::*value;
};
inline constexpr std::array kPercentiles{
    Percentile{"p50", &Summary::median}, Percentile{"p99", &Summary::p99},
    Percentile{"p99.9", &Summary::p999}, Percentile{"max", &Summary::maximum}};

// Returns the latency that represents the path: of the smallest message. Null if there is none.
const Measurement* smallest_latency(const EngineRuns& runs);

}  // namespace railbed

// Measurements arranged by path, TCP beside RDMA, as both the text and the page show them.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "results/measurement.h"

namespace railbed {

// The engines of paths; a place in this list stands for an engine where one is counted.
inline constexpr std::array kEngines{Engine::kTcp, Engine::kRdma};
constexpr std::size_t place_of(Engine engine) {
  return static_cast<std::size_t>(std::ranges::find(kEngines, engine) - kEngines.begin());
}
std::string_view title(Engine engine);  // "TCP", "RDMA"

// What one engine measured on a path; all pointers are into the measurements given to paths_of().
struct EngineRuns {
  std::vector<const Measurement*> bandwidths;  // one a message size (the fastest), sizes rising
  std::vector<const Measurement*> latencies;   // likewise (the lowest median)
  std::vector<const Measurement*> failures;
  const Measurement* fastest() const;  // null without a bandwidth
};

// One rail from one node to another.
struct Path {
  std::string rail;
  std::string from;
  std::string to;
  std::array<EngineRuns, kEngines.size()> engines;
  const Measurement* ping = nullptr;  // the best answer; null: none was sought, or none came

  const EngineRuns& of(Engine engine) const { return engines[place_of(engine)]; }
  bool has_failure() const;
  std::vector<std::uint64_t> bandwidth_sizes() const;  // of either engine, rising
};

// The run with messages of this size; null without one.
const Measurement* of_size(const std::vector<const Measurement*>& runs, std::uint64_t size);

// What sorts paths by urgency, the most urgent least: failures, then the least share of its ceiling.
double worth(const Path& path);

// In order of first appearance.
std::vector<Path> paths_of(const std::vector<Measurement>& measurements);

// The share of the binding limit that was reached; nothing when there is no limit or it is nominal.
std::optional<double> fraction_of_ceiling(const Measurement& measurement);

// "91 % of 38.5 Gb/s, limited by the wire at MTU 2048"; "nominal 10.0 Gb/s (virtual interface), not judged";
// or why there is no ceiling.
std::string describe_ceiling(const Measurement& measurement);

// "floor 0.21 µs (wire 16.8 ns + a switch 0.19 µs + PCIe of gpu01 3.81 ns)"; empty where none was computed.
std::string describe_floor(const Measurement& measurement);

// "connect: no answer over RDMA".
std::string describe_failure(const Measurement& measurement);

// Which roots of failures were told already: several failures of one root are told once.
class ToldRoots {
 public:
  // Whether the failure's root was told before; else it counts as told from now on. The measurement must
  // stay.
  bool is_told(const Measurement& failed);

 private:
  std::vector<const Measurement*> told_;
};
inline constexpr std::string_view kSameRoot = "of the same root, above";

// "12 of 4096 bytes arrived wrong", "41 of 90000 packets lost", …; empty when there is nothing to say.
std::vector<std::string> remarks(const Measurement& measurement);

// "0.12 ms, half a round trip of 56 B (median of 96)".
std::string ping_text(const Measurement& ping);

// The percentiles that latencies are shown by.
struct Percentile {
  std::string_view name;
  double Summary::*value;
};
inline constexpr std::array kPercentiles{
    Percentile{"p50", &Summary::median}, Percentile{"p99", &Summary::p99},
    Percentile{"p99.9", &Summary::p999}, Percentile{"max", &Summary::maximum}};

// The latency that stands for the path: of the smallest message. Null without one.
const Measurement* smallest_latency(const EngineRuns& runs);

}  // namespace railbed

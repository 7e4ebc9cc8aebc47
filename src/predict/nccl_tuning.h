// What NCCL itself expects: its tuning model (2.30, src/graph/tuning.cc), by which it picks an algorithm and
// a protocol for each size. Its estimates are not what is measured; collective_forecast.h says that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hardware/gpu_product.h"
#include "results/collective.h"

namespace railbed {

enum class NcclAlgorithm { kTree, kRing, kNvls, kNvlsTree, kPat };
constexpr auto enum_names(NcclAlgorithm) {
  return std::array<std::string_view, 5>{"tree", "ring", "nvls", "nvls_tree", "pat"};
}
constexpr std::string_view to_text(NcclAlgorithm algorithm) {
  return enum_names(algorithm)[static_cast<std::size_t>(algorithm)];
}

enum class NcclProtocol { kLl, kLl128, kSimple };
constexpr auto enum_names(NcclProtocol) { return std::array<std::string_view, 3>{"ll", "ll128", "simple"}; }
constexpr std::string_view to_text(NcclProtocol protocol) {
  return enum_names(protocol)[static_cast<std::size_t>(protocol)];
}

// What NCCL's search of the topology has found before it tunes. Rates are GB/s, as in its sources.
struct TunedCommunicator {
  GpuArchitecture architecture = GpuArchitecture::kHopper;
  int nodes = 1;
  int ranks = 1;
  int channels = 1;
  double intra = 0;     // of one channel within a node
  double inter = 0;     // of one channel between nodes
  bool nvlink = false;  // else PCIe
  bool amd = false;     // the processor; else Intel
  bool ll = true;       // protocols that the network allows
  bool ll128 = true;
  bool nvls = false;       // NVSwitch reduces and copies on the way
  double net_latency = 0;  // µs that NCCL adds for its network device
  int nvls_channels = 16;  // ours: what NCCL takes on HGX boards
  double nvls_intra = 0;   // of one NVLS channel
  double nvls_inter = 0;
};

struct TuningEstimate {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double latency = 0;  // µs
  double algbw = 0;    // GB/s, corrected for this size
  double time = 0;     // µs
};

// Not alltoall, sendrecv, gather and scatter, which NCCL sends without tuning them.
bool is_tuned(Collective operation);

// Every algorithm and protocol that it would consider, the quickest first. Empty for what NCCL does not tune
// and for one rank.
std::vector<TuningEstimate> tuning_estimates(const TunedCommunicator& communicator, Collective operation,
                                             std::uint64_t bytes);
// µs before the first byte counts, of one algorithm and protocol.
double tuning_latency(const TunedCommunicator& communicator, Collective operation, NcclAlgorithm algorithm,
                      NcclProtocol protocol);

}  // namespace railbed

// NCCL's tuning model (2.30, src/graph/tuning.cc), by which it chooses an algorithm and a protocol for each
// size. Its estimates are not measured times; those are forecast by collective_forecast.h.
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

// The result of NCCL's topology search, which is the input of tuning. Rates are GB/s, as in its sources.
struct TunedCommunicator {
  GpuArchitecture architecture = GpuArchitecture::kHopper;
  int nodes = 1;
  int ranks = 1;
  int channels = 1;
  double intra = 0;     // of one channel within a node
  double inter = 0;     // of one channel between nodes
  bool nvlink = false;  // else PCIe
  bool amd = false;     // AMD processor; else Intel
  bool ll = true;       // protocols that the network permits
  bool ll128 = true;
  bool nvls = false;       // NVSwitch reduces and copies in the network
  double net_latency = 0;  // µs that NCCL adds for its network device
  int nvls_channels = 16;  // ours: NCCL's number on HGX boards
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

// Returns whether NCCL tunes the operation. It does not tune alltoall, sendrecv, gather and scatter.
bool is_tuned(Collective operation);

// Returns an estimate for every algorithm and protocol that NCCL would consider, the fastest first. Empty for
// operations that NCCL does not tune, and for one rank.
std::vector<TuningEstimate> tuning_estimates(const TunedCommunicator& communicator, Collective operation,
                                             std::uint64_t bytes);
// Returns the latency in µs of one algorithm and protocol, without the transfer of data.
double tuning_latency(const TunedCommunicator& communicator, Collective operation, NcclAlgorithm algorithm,
                      NcclProtocol protocol);

}  // namespace railbed

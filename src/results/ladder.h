// Measurements of one pair of nodes from TCP up to NCCL: the share of the link's speed that each rung
// reaches.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

enum class RungKind { kTcp, kRdmaCm, kRdma, kRdmaGpu, kNccl };
constexpr auto enum_names(RungKind) {
  return std::array<std::string_view, 5>{"tcp", "rdma-cm", "rdma", "rdma-gpu", "nccl"};
}
constexpr std::string_view rung_name(RungKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"TCP", "RDMA-CM", "RDMA, host memory", "RDMA, GPU memory",
                                                   "NCCL all_reduce"};
  return kNames[static_cast<std::size_t>(kind)];
}

// The path of NCCL from one GPU to the other, from its own log.
struct NcclWay {
  std::string network;                 // IB, Socket, or a plugin's name
  std::string gpudirect;               // on, off, partly; empty if not logged
  std::vector<std::string> through_a;  // adapters (mlx5_0), or interfaces if the network is Socket
  std::vector<std::string> through_b;
  std::vector<std::string> why;  // reasons for sockets, or for no GPUDirect
  FIELDS(NcclWay, network, gpudirect, through_a, through_b, why);
};

// The smallest share that counts as good. Our own value: the share that healthy paths reach.
inline constexpr double kGoodRung = 0.9;

// One rung of the ladder.
struct Rung {
  RungKind kind = RungKind::kTcp;
  std::optional<Measurement> measurement = {};  // nullopt if it was not measured
  std::string not_climbed = {};                 // reason in that case: "gpu01 has no GPU"
  std::optional<NcclWay> nccl = {};
  // Rate ÷ the binding limit, and rate ÷ the wire's capacity regardless of PCIe. Nullopt without a number, or
  // if the limit is only claimed by a virtual device.
  std::optional<double> share = {};
  std::optional<double> of_wire = {};
  std::vector<std::string> causes = {};  // of the missing rate, the likeliest first; empty if none is missing
  FIELDS(Rung, kind, measurement, not_climbed, nccl, share, of_wire, causes);
  bool works() const { return measurement && !measurement->failure && measurement->summary.samples > 0; }
  // Returns whether it has a bandwidth. RDMA-CM's rung has none: it connects, or it fails.
  bool has_number() const { return works() && measurement->metric == Metric::kBandwidth; }
  // Returns whether other traffic can be why it has less than this share of the wire.
  bool lacks_for_traffic(double wanted) const {
    const double has = of_wire.value_or(0);
    return has > 0 && has < wanted && may_lack_for_traffic(*measurement, BitRate{wanted * rate() / has});
  }
  double rate() const { return has_number() ? measurement->summary.median : 0; }  // bits per second
};

struct Ladder {
  std::string a;
  std::string b;
  std::string rail;
  std::vector<Rung> rungs;
  int loser = -1;  // index into `rungs`: the rung that loses most against those below it; -1: none
  FIELDS(Ladder, a, b, rail, rungs, loser);
};

}  // namespace railbed

// One pair of nodes, climbed from TCP to NCCL: how much of the link is left on each rung.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "results/measurement.h"

namespace railbed {

enum class RungKind { kTcp, kRdma, kRdmaGpu, kNccl };
constexpr auto enum_names(RungKind) {
  return std::array<std::string_view, 4>{"tcp", "rdma", "rdma-gpu", "nccl"};
}
constexpr std::string_view rung_name(RungKind kind) {
  constexpr std::array<std::string_view, 4> kNames{"TCP", "RDMA, host memory", "RDMA, GPU memory",
                                                   "NCCL all_reduce"};
  return kNames[static_cast<std::size_t>(kind)];
}

// How NCCL went from one GPU to the other, by its own log.
struct NcclWay {
  std::string network;                 // IB, Socket, or a plugin's name
  std::string gpudirect;               // on, off, partly; empty: not said
  std::vector<std::string> through_a;  // adapters (mlx5_0), or interfaces where the network is Socket
  std::vector<std::string> through_b;
  std::vector<std::string> why;  // why it is sockets, or without GPUDirect
  FIELDS(NcclWay, network, gpudirect, through_a, through_b, why);
};

struct Rung {
  RungKind kind = RungKind::kTcp;
  std::optional<Measurement> measurement = {};  // nothing: it was not climbed
  std::string not_climbed = {};                 // why: "gpu01 has no GPU"
  std::optional<NcclWay> nccl = {};
  // Rate ÷ the binding limit, and ÷ what the wire carries, whatever PCIe does. Nothing without a number, or
  // where the limit is a virtual device's claim.
  std::optional<double> share = {};
  std::optional<double> of_wire = {};
  std::vector<std::string> causes = {};  // of what is missing, the likeliest first; empty: nothing is
  FIELDS(Rung, kind, measurement, not_climbed, nccl, share, of_wire, causes);
  bool has_number() const { return measurement && !measurement->failure && measurement->summary.samples > 0; }
  double rate() const { return has_number() ? measurement->summary.median : 0; }  // bits per second
};

struct Ladder {
  std::string a;
  std::string b;
  std::string rail;
  std::vector<Rung> rungs;
  int loser = -1;  // of `rungs`: where most is lost against the rungs below it; -1: nowhere
  FIELDS(Ladder, a, b, rail, rungs, loser);
};

}  // namespace railbed

// One pair of nodes, climbed from TCP to NCCL: how much of the link is left on each rung.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  static void fields(auto&& field) {
    field("network", &NcclWay::network);
    field("gpudirect", &NcclWay::gpudirect);
    field("through_a", &NcclWay::through_a);
    field("through_b", &NcclWay::through_b);
    field("why", &NcclWay::why);
  }
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
  static void fields(auto&& field) {
    field("kind", &Rung::kind);
    field("measurement", &Rung::measurement);
    field("not_climbed", &Rung::not_climbed);
    field("nccl", &Rung::nccl);
    field("share", &Rung::share);
    field("of_wire", &Rung::of_wire);
    field("causes", &Rung::causes);
  }
  bool has_number() const { return measurement && !measurement->failure && measurement->summary.samples > 0; }
  double rate() const { return has_number() ? measurement->summary.median : 0; }  // bits per second
};

struct Ladder {
  std::string a;
  std::string b;
  std::string rail;
  std::vector<Rung> rungs;
  int loser = -1;  // of `rungs`: where most is lost against the rungs below it; -1: nowhere
  static void fields(auto&& field) {
    field("a", &Ladder::a);
    field("b", &Ladder::b);
    field("rail", &Ladder::rail);
    field("rungs", &Ladder::rungs);
    field("loser", &Ladder::loser);
  }
};

}  // namespace railbed

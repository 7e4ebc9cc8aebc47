// Without a switch a node needs a port for every node that it should reach. Two nodes: all ports of both.
// Three nodes of two ports, four of three: a mesh, with a cable for each pair; of three nodes it is a ring. With
// fewer ports than that only a ring of neighbours is left. Data to the far side would have to pass through other
// nodes, which RDMA does not do, but which NCCL's trees, all_to_all and storage need. With a switch every pair
// reaches the sum of its ports, and a message takes the time of the hop in addition.
//
// Of NCCL 2.30.7 were read: src/transport/net_ib/connect.cc (subnet-aware routing compares GIDs of Ethernet ports
// alone) and src/init.cc (trees are connected besides rings; at the start, or by their first use if cuMem is on).
// That four Sparks in a ring end in ncclTransportTreeConnect is reported in
// github.com/MiaAI-Lab/DeepSeek-v4.1-Flash-DGX-Sparks/pull/3.
#include "predict/switch_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/rail_plan.h"

namespace railbed {
namespace {

constexpr std::string_view kBackToBackName = "back to back";
constexpr std::string_view kRingName = "ring without a switch";
constexpr std::string_view kMeshName = "mesh without a switch";
constexpr std::string_view kNeedsRouting =
    "NCCL 2.30.7 or later with NCCL_IB_SUBNET_AWARE_ROUTING=1: by default NCCL pairs adapters by their order, and takes one "
    "whose cable leads to another node";
constexpr std::string_view kNeedsSubnets =
    "a subnet of its own for each cable; NCCL_IB_SUBNET_PREFIX_LEN if its prefix is not 24 long";
constexpr std::string_view kNeedsManagers =
    "a subnet manager for each cable (opensm -g PORT_GUID): each cable is an InfiniBand subnet of its own";
constexpr std::string_view kNeedsOrder =
    "NCCL to pair adapters by subnet, which it does for Ethernet ports only (2.30.7)";

WiringChoice back_to_back(const SwitchQuestion& q) {
  WiringChoice choice;
  choice.name = kBackToBackName;
  choice.possible = q.nodes == 2;
  choice.why = choice.possible ? "nothing between the two: the least latency, the least to buy, no third node"
                               : fmt::format("joins two nodes, not {}", q.nodes);
  choice.cables = q.ports;
  choice.pair = choice.ring = q.speed * q.ports;
  choice.latency_low = choice.latency_high = q.latency;
  choice.any_to_any = choice.possible;
  if (choice.possible && q.fabric == Fabric::kInfiniband) choice.needs = {std::string(kNeedsManagers)};
  return choice;
}

// Adds what cables need that each lead to another node.
void add_needs(const SwitchQuestion& q, WiringChoice& choice) {
  if (!choice.possible || q.nodes == 2) return;
  if (q.fabric == Fabric::kRoce) choice.needs = {std::string(kNeedsRouting), std::string(kNeedsSubnets)};
  if (q.fabric == Fabric::kInfiniband) choice.needs = {std::string(kNeedsManagers), std::string(kNeedsOrder)};
}

// A ring: each node has half its ports to each neighbour. A mesh: each node has as many ports to every other.
WiringChoice without_switch(const SwitchQuestion& q) {
  WiringChoice choice;
  const int others = q.nodes - 1;
  const bool mesh = q.nodes > 3 && q.ports >= others;
  choice.name = mesh ? kMeshName : kRingName;
  choice.any_to_any = choice.possible = q.nodes > 2 && q.ports >= others;
  const int links = mesh ? q.ports / others : q.ports / 2;
  choice.why = q.nodes == 2  ? "two nodes are back to back"
               : q.ports < 2 ? "needs two ports a node"
               : mesh        ? fmt::format(
                                   "every node has a cable to every other; a {}th would need one port more "
                                          "in each node",
                                   q.nodes + 1)
               : choice.possible
                   ? "every node reaches both others; a fourth would not fit"
                   : fmt::format(
                         "stock NCCL does not start: it connects trees and pairs beside the ring, "
                         "and nodes that are not neighbours have no cable; {} ports a node "
                         "would make a mesh",
                         others);
  choice.cables = mesh ? q.nodes * others / 2 * links : q.nodes * links;
  choice.pair = q.speed * links;
  choice.ring = q.speed * (2 * links);
  choice.latency_low = choice.latency_high = q.latency;
  add_needs(q, choice);
  return choice;
}

WiringChoice switched(const SwitchQuestion& q) {
  WiringChoice choice;
  const auto fits = switches_that_fit(q.nodes, q.ports, q.fabric, q.speed);
  choice.possible = choice.any_to_any = !fits.empty();
  choice.name = "switch";
  if (fits.empty()) {
    choice.why = "no switch of the table serves that in two levels";
    return choice;
  }
  const SwitchFit& fit = fits.front();
  const bool spines = fit.spines > 0;
  const HopLatency& hop = hop_latency(q.kind);
  choice.name = spines ? "leaves and spines" : fit.leaves > 1 ? "a switch a rail" : "one switch";
  choice.why = fmt::format("{} spare ports for nodes; {}", fit.spare,
                           q.ports > 1 ? "the other ports of a node are another path when one breaks"
                                       : "a node has no other path when its port breaks");
  choice.cables = q.nodes * q.ports + (spines ? fit.leaves * (fit.ports / 2) : 0);
  choice.switches = fit.count();
  choice.model = fit.model;
  choice.pair = choice.ring = q.speed * q.ports;
  choice.latency_low = q.latency + (spines ? 3 : 1) * hop.low;
  choice.latency_high = q.latency + (spines ? 3 : 1) * hop.high;
  return choice;
}

std::string why_switch(const SwitchQuestion& q, const WiringChoice& choice) {
  return fmt::format(
      "{} nodes all reach each other only over switches; the hop costs {} to {} of a message, "
      "{:.0f} % and more of the {} that it takes back to back, and no bandwidth",
      q.nodes, to_text(choice.latency_low - q.latency), to_text(choice.latency_high - q.latency),
      100 * (choice.latency_low - q.latency) / q.latency, to_text(q.latency));
}

}  // namespace

SwitchAdvice advise_switch(const SwitchQuestion& q) {
  SwitchAdvice advice{{back_to_back(q), without_switch(q), switched(q)}, "", ""};
  const WiringChoice& by_switch = advice.choices[2];
  if (q.nodes == 2) {
    advice.advised = kBackToBackName;
    advice.why =
        fmt::format("two nodes: {} {} carry the same {} as over a switch, and a message waits for no hop",
                    q.ports, q.ports == 1 ? "cable" : "cables", to_text(q.speed * q.ports));
    if (by_switch.possible)
      advice.why += fmt::format(" of {} to {}; buy a switch when a third node comes",
                                to_text(by_switch.latency_low - q.latency),
                                to_text(by_switch.latency_high - q.latency));
  } else if (advice.choices[1].any_to_any && (q.fabric != Fabric::kInfiniband || !by_switch.possible)) {
    advice.advised = advice.choices[1].name;
    advice.why = fmt::format(
        "{} nodes of {} ports: {} cables reach everybody without a switch; rings run at {} a "
        "node, but a pair alone has {} of that; another node needs a switch",
        q.nodes, q.ports, advice.choices[1].cables, to_text(advice.choices[1].ring),
        to_text(advice.choices[1].pair));
  } else if (by_switch.possible) {
    advice.advised = by_switch.name;
    advice.why = why_switch(q, by_switch);
  } else {
    advice.why =
        "no wiring of two levels serves this: fewer nodes or ports, a lower speed, or a network that is designed";
  }
  return advice;
}

}  // namespace railbed

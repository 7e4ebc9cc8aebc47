// Without a switch a node needs a port for every node that it should reach. Two nodes: all ports of both.
// Three and more with two ports each: a ring, in which a collective's ring runs at full speed in both
// directions. With three nodes it reaches all. From four on, data to the far side would have to pass through
// other nodes, which RDMA does not do, but which NCCL's trees, all_to_all and storage need. With a switch
// every pair reaches the sum of its ports, and a message takes the time of the hop in addition.
#include "predict/switch_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/rail_plan.h"

namespace railbed {
namespace {

constexpr std::string_view kBackToBackName = "back to back";
constexpr std::string_view kRingName = "ring without a switch";

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
  return choice;
}

// Each node has half its ports to each neighbor.
WiringChoice ring(const SwitchQuestion& q) {
  WiringChoice choice;
  choice.name = kRingName;
  choice.possible = q.nodes > 2 && q.ports >= 2;
  choice.any_to_any = q.nodes == 3 && choice.possible;
  choice.why = q.nodes == 2   ? "two nodes are back to back"
               : q.ports < 2  ? "needs two ports a node"
               : q.nodes == 3 ? "every node reaches both others; a fourth would not fit"
                              : "neighbours reach each other, nobody else: rings run, trees, all_to_all and "
                                "storage do not";
  choice.cables = q.nodes * (q.ports / 2);
  choice.pair = q.speed * (q.ports / 2);
  choice.ring = q.speed * (q.ports / 2 * 2);
  choice.latency_low = choice.latency_high = q.latency;
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
  SwitchAdvice advice{{back_to_back(q), ring(q), switched(q)}, "", ""};
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
  } else if (advice.choices[1].any_to_any) {
    advice.advised = kRingName;
    advice.why = fmt::format(
        "three nodes of {} ports: {} cables reach everybody without a switch; rings run at {} a "
        "node, but a pair alone has {} of that; a fourth node needs a switch",
        q.ports, advice.choices[1].cables, to_text(advice.choices[1].ring), to_text(advice.choices[1].pair));
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

#include "monitor/probe/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/median.h"
#include "base/text.h"
#include "base/units.h"

namespace railbed {
namespace {

constexpr int kUsualTrafficClass = 104;  // DSCP 26, the default of `railbed plan` if cluster.yaml sets none

// Returns the interface whose driver counts by priority. A VLAN's interface does not; its parent does.
std::string counted_interface(const Rail& rail, const std::string& interface) {
  const auto dot = rail.vlan ? interface.rfind('.') : std::string::npos;
  return interface.substr(0, dot);
}

// Returns the priority that configure/ gives the traffic class: that of PFC, or the DSCP's default.
std::optional<int> priority_of(const Node& node) {
  if (node.configure.pfc_priority) return node.configure.pfc_priority;
  if (node.expect.traffic_class) return *node.expect.traffic_class >> 5;
  return std::nullopt;
}

std::optional<ProbeRail> plan_rail(const Rail& rail, const Node& node) {
  ProbeRail found{.name = rail.name, .rdma = rail.fabric != Fabric::kEthernet};
  bool is_there = false;
  for (const RailPort& port : rail.ports) {
    if (!port.address || port.address->is_link_local()) continue;
    if (port.node == node.name) {
      is_there = true;
      found.own = found.others.size();
      found.interface = port.interface;
      found.counted = counted_interface(rail, port.interface);
      found.address = *port.address;
    }
    found.others.push_back({port.node, port.interface, *port.address});
  }
  if (!is_there || found.others.size() < 2) return std::nullopt;
  found.named = found.others.size() - 1 <= kMostNamedPeers;
  found.traffic_class = node.expect.traffic_class.value_or(kUsualTrafficClass);
  if (rail.fabric == Fabric::kRoce) found.priority = priority_of(node);
  return found;
}

void add_burst(const ProbeBurst& burst, double when, ProbeSeries& series) {
  series.sent += burst.sent;
  series.lost += burst.sent - burst.answered;
  for (const double trip : burst.round_trips) series.round_trips.add(trip);
  if (burst.reason != ProbeReason::kNone) ++series.failures[burst.reason];
  if (burst.round_trips.empty()) return;
  series.last_success = when;
  series.latest = median_of(burst.round_trips);
}

std::string burst_text(const ProbeBurst& burst) {
  if (burst.round_trips.empty()) return "FAILED: " + printable(burst.why);
  std::string text = fmt::format("{} of {} answered, median {:.1f} µs", burst.answered, burst.sent,
                                 median_of(burst.round_trips) * 1e6);
  if (burst.reason != ProbeReason::kNone) text += ", then FAILED: " + printable(burst.why);
  return text;
}

std::string sight_text(const PrioritySight& sight) {
  const std::string end = fmt::format("priority {} {} {}", sight.expected, sight.there ? "there" : "here",
                                      sight.sent ? "sent" : "received");
  if (sight.verdict == PriorityVerdict::kUntold) return end + ": cannot be told, " + sight.why;
  return fmt::format("{}: {}", end,
                     sight.verdict == PriorityVerdict::kRight
                         ? "moved, as it should"
                         : fmt::format("WRONG, stood still while {} moved", sight.seen));
}

bool is_bad(const PeerProbe& probe) {
  return probe.skipped.empty() && (probe.tcp.reason != ProbeReason::kNone ||
                                   (probe.rdma && probe.rdma->reason != ProbeReason::kNone) ||
                                   std::ranges::any_of(probe.priorities, [](const PrioritySight& sight) {
                                     return sight.verdict == PriorityVerdict::kWrong;
                                   }));
}

}  // namespace

ProbePlan plan_probes(const Cluster& cluster, const std::string& node) {
  ProbePlan plan{.node = node, .rails = {}};
  const Node* const found = find_node(cluster, node);
  if (found == nullptr) return plan;
  for (const Rail& rail : cluster.rails)
    if (auto one = plan_rail(rail, *found)) plan.rails.push_back(std::move(*one));
  return plan;
}

void ProbeState::add(ProbeRound round, const ProbePlan& plan) {
  for (const PeerProbe& probe : round.probes) {
    const auto rail = std::ranges::find(plan.rails, probe.rail, &ProbeRail::name);
    const bool named = rail == plan.rails.end() || rail->named;
    if (!probe.skipped.empty()) {
      ++skipped[{probe.rail, probe.skipped}];
      continue;
    }
    const std::string peer = named ? probe.peer : "";
    add_burst(probe.tcp, round.when, series[{probe.rail, peer, ProbeTransport::kTcp}]);
    if (probe.rdma) add_burst(*probe.rdma, round.when, series[{probe.rail, peer, ProbeTransport::kRdma}]);
  }
  last = std::move(round);
}

std::string probe_text(const ProbeRound& round) {
  if (round.pause) return fmt::format("nothing was probed: {}\n", printable(round.pause.why));
  std::string text;
  for (const PeerProbe& probe : round.probes) {
    const std::string pair = fmt::format("{:<12} {:<16}", printable(probe.rail), printable(probe.peer));
    if (!probe.skipped.empty()) {
      text += fmt::format("{} left alone: {}\n", pair, printable(probe.skipped));
      continue;
    }
    text += fmt::format("{} tcp   {}\n", pair, burst_text(probe.tcp));
    if (probe.rdma) text += fmt::format("{} rdma  {}\n", pair, burst_text(*probe.rdma));
    for (const PrioritySight& sight : probe.priorities)
      text += fmt::format("{}       {}\n", pair, printable(sight_text(sight)));
    if (!probe.priority_untold.empty())
      text += fmt::format("{}       priority: cannot be told, {}\n", pair, printable(probe.priority_untold));
  }
  return text;
}

int probe_exit_code(const ProbeRound& round) {
  if (round.pause || round.probes.empty()) return kExitCouldNotLook;
  return std::ranges::any_of(round.probes, is_bad) ? kExitFailures : kExitClean;
}

}  // namespace railbed

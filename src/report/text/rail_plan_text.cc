#include "report/text/rail_plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

constexpr std::size_t kMostFits = 8;

std::string end_text(const CableEnd& end) { return end.device + " port " + end.port; }

std::string layout_text(const RailPlan& plan) {
  if (!plan.chosen) return "back to back, no switch";
  const SwitchFit& fit = *plan.chosen;
  switch (fit.layout) {
    case RailLayout::kOneSwitch:
      return "all rails on one switch";
    case RailLayout::kSwitchPerRail:
      return "a switch a rail";
    default:
      return fmt::format("leaves and spines, {} and {} in all, each rail its own", fit.leaves, fit.spines);
  }
}

std::string switches_text(const RailPlan& plan) {
  if (!plan.chosen) return "";
  std::string text = fmt::format("\nswitch ports for nodes: {}\n  {:<10}{:>7}{:>12}{:>10}{:>8}\n",
                                 plan.switch_ports, "fits", "ports", "speed", "switches", "spare");
  for (std::size_t i = 0; i < std::min(kMostFits, plan.fits.size()); ++i) {
    const SwitchFit& fit = plan.fits[i];
    text += fmt::format("  {:<10}{:>7}{:>12}{:>10}{:>8}{}\n", fit.model, fit.ports, to_text(fit.speed),
                        fit.count(), fit.spare, &fit == &plan.fits.front() ? "  planned with" : "");
  }
  return text + fmt::format("  ({})\n", plan.chosen->source);
}

std::string addresses_text(const Cluster& cluster) {
  std::string text = fmt::format("\n{:<14}", "addresses");
  for (const Rail& rail : cluster.rails)
    text += fmt::format("{:<18}", rail.name + " " + rail.ports.front().interface);
  text += '\n';
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    text += fmt::format("  {:<12}", cluster.nodes[n].name);
    for (const Rail& rail : cluster.rails)
      text += fmt::format("{:<18}",
                          fmt::format("{}/{}", rail.ports[n].address->to_text(), rail.subnet->prefix()));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string cables_text(const RailPlan& plan) {
  std::size_t widest = 0;
  for (const CableRun& cable : plan.cables) widest = std::max(widest, end_text(cable.from).size());
  std::string text = fmt::format("\n{} of {:g} m\n", counted(plan.cables.size(), "cable"), plan.metres);
  for (const CableRun& cable : plan.cables)
    text += fmt::format("  {:<10}{:<{}}  to  {}\n", cable.label, end_text(cable.from), widest,
                        end_text(cable.to));
  return text;
}

std::string label_text(const std::string& label, const CableEnd& here, const CableEnd& there) {
  return fmt::format("{}  {}\nto {}\n", label, end_text(here), end_text(there));
}

}  // namespace

std::string rail_plan_text(const RailPlan& plan) {
  const Cluster& cluster = plan.cluster;
  return fmt::format("{} × {} at {}: {}\n", counted(cluster.nodes.size(), "node"),
                     counted(cluster.rails.size(), "rail"), to_text(*cluster.rails.front().speed),
                     layout_text(plan)) +
         switches_text(plan) + addresses_text(cluster) + cables_text(plan);
}

std::string cable_labels_text(const RailPlan& plan) {
  std::string text;
  for (const CableRun& cable : plan.cables)
    text += label_text(cable.label, cable.from, cable.to) + '\n' +
            label_text(cable.label, cable.to, cable.from) + '\n';
  return text;
}

std::string switch_advice_text(const SwitchAdvice& advice, int nodes) {
  std::string text = fmt::format("{} nodes\n  {:<24}{:>7}{:>10}{:>13}{:>13}{:>20}\n", nodes, "", "cables",
                                 "switches", "a pair", "a ring", "latency");
  for (const WiringChoice& choice : advice.choices) {
    text += fmt::format("  {:<24}", choice.name);
    if (choice.possible) {
      const std::string latency = choice.latency_low == choice.latency_high
                                      ? to_text(choice.latency_low)
                                      : to_text(choice.latency_low) + " to " + to_text(choice.latency_high);
      text += fmt::format("{:>7}{:>10}{:>13}{:>13}", choice.cables, choice.switches, to_text(choice.pair),
                          to_text(choice.ring)) +
              right_aligned(latency, 20);
    }
    text += fmt::format("\n    {}{}{}\n",
                        choice.possible ? "" : "no: ", choice.model.empty() ? "" : choice.model + ": ",
                        choice.why);
    for (const std::string& need : choice.needs) text += fmt::format("    needs {}\n", need);
  }
  return text + (advice.advised.empty() ? "\nno advice: " : "\nadvised: " + advice.advised + ": ") +
         advice.why + '\n';
}

}  // namespace railbed

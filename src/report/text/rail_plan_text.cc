#include "report/text/rail_plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "report/text/bench_table.h"

namespace railbed {
namespace {

constexpr std::size_t kMostFits = 8;

std::string end_text(const CableEnd& end) { return end.device + " port " + end.port; }

std::string layout_text(const SwitchFit& fit) {
  switch (fit.layout) {
    case RailLayout::kOneSwitch:
      return "all rails on one switch";
    case RailLayout::kSwitchPerRail:
      return "a switch a rail";
    default:
      return fmt::format("leaves and spines, {} and {} in all, each rail its own", fit.leaves, fit.spines);
  }
}

std::string storage_layout_text(const SwitchFit& fit) {
  return fit.spines == 0 ? "one switch" : fmt::format("{} leaves and {} spines", fit.leaves, fit.spines);
}

std::string switches_text(std::string_view for_whom, int ports, const std::vector<SwitchFit>& fits) {
  std::string text = fmt::format("\nswitch ports for {}: {}\n  {:<10}{:>7}{:>12}{:>10}{:>8}\n", for_whom,
                                 ports, "fits", "ports", "speed", "switches", "spare");
  for (std::size_t i = 0; i < std::min(kMostFits, fits.size()); ++i) {
    const SwitchFit& fit = fits[i];
    text += fmt::format("  {:<10}{:>7}{:>12}{:>10}{:>8}{}\n", fit.model, fit.ports, to_text(fit.speed),
                        fit.count(), fit.spare, &fit == &fits.front() ? "  planned with" : "");
  }
  return text + fmt::format("  ({})\n", fits.front().source);
}

std::string storage_text(const RailPlan& plan) {
  if (!plan.storage) return "";
  const StorageNetwork& storage = *plan.storage;
  const Rail& rail = plan.cluster.rails.back();
  return fmt::format(
      "storage: {} and the nodes at {}: {}. While all nodes read at once, each gets {}, if drives and "
      "servers keep up\n",
      counted(static_cast<std::size_t>(storage.servers), "server"), to_text(*rail.speed),
      storage_layout_text(storage.chosen), to_text(storage.for_each_node));
}

std::string addresses_text(const Cluster& cluster) {
  std::string text = fmt::format("\n{:<14}", "addresses");
  for (const Rail& rail : cluster.rails)
    text += fmt::format("{:<18}", rail.name + " " + rail.ports.front().interface);
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (const Node& node : cluster.nodes) {
    text += fmt::format("  {:<12}", node.name);
    for (const Rail& rail : cluster.rails) {
      const RailPort* const port = find_port(rail, node.name);
      text += fmt::format(
          "{:<18}",
          port == nullptr ? "" : fmt::format("{}/{}", port->address->to_text(), rail.subnet->prefix()));
    }
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

std::string rail_plan_title(const RailPlan& plan) {
  const std::size_t servers = plan.storage ? static_cast<std::size_t>(plan.storage->servers) : 0;
  const std::size_t rails = plan.cluster.rails.size() - (plan.storage ? 1 : 0);
  return fmt::format("{} × {}{}", counted(plan.cluster.nodes.size() - servers, "node"),
                     counted(rails, "rail"),
                     plan.storage ? fmt::format(", and storage on {}", counted(servers, "server")) : "");
}

std::string rail_plan_text(const RailPlan& plan) {
  const Cluster& cluster = plan.cluster;
  std::string text =
      fmt::format("{} at {}: {}\n", rail_plan_title(plan), to_text(*cluster.rails.front().speed),
                  plan.chosen ? layout_text(*plan.chosen) : "back to back, no switch");
  text += storage_text(plan);
  if (plan.chosen) text += switches_text("nodes", plan.switch_ports, plan.fits);
  if (plan.storage) text += switches_text("storage", plan.storage->switch_ports, plan.storage->fits);
  return text + addresses_text(cluster) + cables_text(plan);
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

#include "report/text/upgrades_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {
namespace {

std::string rate_span(BitRate low, BitRate high) {
  if (low == high) return fmt::format("{:.3g} GB/s", low.gigabytes());
  return fmt::format("{:.3g} to {:.3g} GB/s", low.gigabytes(), high.gigabytes());
}

std::string part_line(const UpgradePart& part, const std::string& currency) {
  const std::string what =
      part.numbers.empty() ? part.what : fmt::format("{} ({})", fmt::join(part.numbers, " or "), part.what);
  const std::string each =
      part.quantity > 0 && part.quantity != part.total ? fmt::format(", {} a node", part.quantity) : "";
  std::string text = fmt::format("      {} × {} in all{}, about {:g} W ({})", part.total, what, each,
                                 part.watts, part.source);
  if (part.price) text += fmt::format(", {:g} {}", *part.price, currency);
  return printable(text) + '\n';
}

std::string gain_text(const Upgrade& upgrade, const NodeLimit& now) {
  const double least = upgrade.after.bits_per_second / now.most.bits_per_second;
  const double most = upgrade.after_most.bits_per_second / now.rate.bits_per_second;
  if (now.rate == now.most && upgrade.after == upgrade.after_most) return fmt::format("×{:.2f}", most);
  return fmt::format("×{:.2f} to {:.2f}", std::max(least, 1.0), most);
}

std::string upgrade_text(const Upgrade& upgrade, const NodeLimit& now, const std::string& currency) {
  std::string text =
      fmt::format("    {:<28}{:>18}  {}, then {} {}\n      {}\n", upgrade.name,
                  rate_span(upgrade.after, upgrade.after_most), gain_text(upgrade, now), upgrade.binds,
                  upgrade.binds.ends_with('s') ? "bind" : "binds", printable(upgrade.why));
  for (const std::string& condition : upgrade.conditions) text += "      " + printable(condition) + '\n';
  for (const UpgradePart& part : upgrade.parts) text += part_line(part, currency);
  if (upgrade.price && !upgrade.parts.empty())
    text += fmt::format("      {:g} {} in all, {:.3g} for each GB/s that a node gains\n", *upgrade.price,
                        currency, *upgrade.per_gained);
  return text;
}

std::string node_text(const NodeUpgrades& node, const std::string& currency) {
  std::string text = printable(fmt::format("{}", fmt::join(node.nodes, ", "))) + '\n';
  for (const std::string& rail : node.rails) text += "  rail " + printable(rail) + '\n';
  for (const LeftOutPort& port : node.left_out)
    text += fmt::format("  no rail: {}: {}\n", printable(port.port), printable(port.why));
  if (node.limits.empty()) return text + "  " + node.note + '\n';
  text += "  limits, each way\n";
  for (const NodeLimit& limit : node.limits)
    text += fmt::format("    {:<28}{:>18}  {}{}\n", limit.name, rate_span(limit.rate, limit.most),
                        &limit == &node.limits.front() ? "binds now: " : "", limit.source);
  if (!node.fixed.empty()) text += "  what cannot be exchanged or added: " + printable(node.fixed) + '\n';
  if (!node.upgrades.empty()) text += "  what would raise it\n";
  for (const Upgrade& upgrade : node.upgrades) text += upgrade_text(upgrade, node.limits.front(), currency);
  if (!node.note.empty()) text += "  " + printable(node.note) + '\n';
  if (!node.useless.empty()) text += "  no use here\n";
  for (const UselessUpgrade& useless : node.useless)
    text += fmt::format("    {}: {}\n", useless.name, printable(useless.why));
  return text;
}

}  // namespace

std::string upgrades_text(const std::vector<NodeUpgrades>& all, const std::string& currency) {
  std::string text;
  for (const NodeUpgrades& node : all) text += node_text(node, currency);
  return text;
}

}  // namespace railbed

#include "settings/target.h"

namespace railbed {
namespace {

const Node& node_of(const NodeView& view) {
  static const Node kUnlisted;
  return view.wanted == nullptr ? kUnlisted : *view.wanted;
}

}  // namespace

const Node& Target::node() const { return node_of(view); }

std::optional<bool> starts_at_boot(const Target& target, std::string_view unit) {
  const auto& units = target.facts().system.own_units_at_boot;
  if (!units.ok()) return std::nullopt;
  return std::ranges::find(*units, unit) != units->end();
}

Result<Target> target_of(const ClusterWide& wide, const NodeView& view) {
  ASSIGN_OR_RETURN(auto platform, platform_of(node_of(view), *view.facts));
  return Target{wide, view, std::move(platform)};
}

}  // namespace railbed

#include "settings/target.h"

namespace railbed {
namespace {

const Node& node_of(const NodeView& view) {
  static const Node kUnlisted;
  return view.wanted == nullptr ? kUnlisted : *view.wanted;
}

}  // namespace

const Node& Target::node() const { return node_of(view); }

Result<Target> target_of(const ClusterWide& wide, const NodeView& view) {
  ASSIGN_OR_RETURN(auto platform, platform_of(node_of(view), *view.facts));
  return Target{wide, view, std::move(platform)};
}

std::optional<Target> other_target(const Target& target, std::string_view node) {
  const NodeView* const view = target.wide.survey.find(node);
  if (view == nullptr) return std::nullopt;
  const auto found = target_of(target.wide, *view);
  return found && found->looked() ? std::optional<Target>(*found) : std::nullopt;
}

}  // namespace railbed

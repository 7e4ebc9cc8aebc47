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

}  // namespace railbed

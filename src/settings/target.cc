#include "settings/target.h"

namespace railbed {

Result<Target> target_of(const ClusterWide& wide, const NodeView& view) {
  ASSIGN_OR_RETURN(auto platform, platform_of(*view.wanted, *view.facts));
  return Target{wide, view, std::move(platform)};
}

}  // namespace railbed

#include "configure/target.h"

namespace railbed {

Result<Target> target_of(const ClusterWide& wide, const NodeView& view) {
  auto platform = platform_of(*view.wanted, *view.facts);
  if (!platform) return fail(platform.error());
  return Target{wide, view, *std::move(platform)};
}

}  // namespace railbed

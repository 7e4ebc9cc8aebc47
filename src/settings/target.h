// What renderers write for: one node of a cluster, as the survey of verify sees it (its ends of rails,
// adapters, GPUs).
#pragma once

#include "base/result.h"
#include "settings/cluster_wide.h"
#include "settings/platform.h"
#include "model/survey.h"

namespace railbed {

// Points into the survey, and so into its evidence. A node that nobody has looked at has empty Facts there.
struct Target {
  const ClusterWide& wide;
  const NodeView& view;
  Platform platform;

  const Cluster& cluster() const { return wide.cluster(); }
  const Node& node() const { return *view.wanted; }
  const Configuration& configure() const { return view.wanted->configure; }
  const Facts& facts() const { return *view.facts; }
  bool looked() const { return !view.facts->railbed.empty(); }  // else every need is open
};

// `view` is of a node that cluster.yaml knows. An error where the platform cannot be told.
Result<Target> target_of(const ClusterWide& wide, const NodeView& view);

}  // namespace railbed

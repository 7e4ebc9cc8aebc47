// What renderers write for: one node of a cluster, as the survey of verify sees it (its ends of rails,
// adapters, GPUs).
#pragma once

#include "base/result.h"
#include "model/survey.h"
#include "settings/cluster_wide.h"
#include "settings/platform.h"

namespace railbed {

// Points into the survey, and so into its evidence. A node that nobody has looked at has empty Facts there.
struct Target {
  const ClusterWide& wide;
  const NodeView& view;
  Platform platform;

  const Cluster& cluster() const { return wide.cluster(); }
  // Of a node that cluster.yaml does not know: one of which nothing is said.
  const Node& node() const;
  const Configuration& configure() const { return node().configure; }
  const Facts& facts() const { return *view.facts; }
  bool looked() const { return !view.facts->railbed.empty(); }  // else every need is open
};

// An error where the platform is not known.
Result<Target> target_of(const ClusterWide& wide, const NodeView& view);

}  // namespace railbed

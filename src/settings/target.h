// The input of renderers: one node of a cluster, as verify's survey describes it (its rail ends, adapters,
// GPUs).
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/survey.h"
#include "settings/cluster_wide.h"
#include "settings/platform.h"

namespace railbed {

// Points into the survey, and so into its evidence. A node without facts has empty Facts there.
struct Target {
  const ClusterWide& wide;
  const NodeView& view;
  Platform platform;

  const Cluster& cluster() const { return wide.cluster(); }
  // Returns the node in cluster.yaml; an empty Node if it is not listed there.
  const Node& node() const;
  const Configuration& configure() const { return node().configure; }
  const Facts& facts() const { return *view.facts; }
  bool looked() const { return !view.facts->railbed.empty(); }  // false: every need is open
};

// Fails if the platform is unknown.
Result<Target> target_of(const ClusterWide& wide, const NodeView& view);

// Returns another node of the cluster as a target; nullopt if nobody looked at it.
std::optional<Target> other_target(const Target& target, std::string_view node);

}  // namespace railbed

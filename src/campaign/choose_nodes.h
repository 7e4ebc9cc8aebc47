// Which nodes a command is about, where Slurm or Kubernetes starts the agents.
#pragma once

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"

namespace railbed {

// Over ssh the cluster as it is. By a scheduler the nodes of it that the choice names, or all where it names
// none; of an empty cluster, a cluster of those that it names, of Kubernetes those that have a pod, without
// rails and expectations. An error where there is none.
Result<Cluster> choose_nodes(Cluster cluster, const ReachOptions& reach, const Caller& caller);

// The cluster without its other nodes, in the cluster's order. An error where one is not its own.
Result<Cluster> narrowed(Cluster cluster, const std::vector<std::string>& names);

}  // namespace railbed

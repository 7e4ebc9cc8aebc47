// Selects the nodes of a command when Slurm or Kubernetes starts the agents.
#pragma once

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/reach.h"
#include "inventory/cluster.h"

namespace railbed {

// Returns the cluster reduced to the nodes that the options select. Over ssh the cluster is unchanged. With a
// scheduler, it keeps the nodes that the options name, or all if they name none. If `cluster` is empty, the
// result is a new cluster without rails and expectations, made of the nodes that the options name or, with
// Kubernetes, of the nodes that have a pod. Fails if no node is left, or if the options belong to another
// scheduler.
Result<Cluster> choose_nodes(Cluster cluster, const ReachOptions& reach, const Caller& caller);

// Returns the cluster with only these nodes, in the cluster's order. Fails if a name is not one of its nodes.
Result<Cluster> narrowed(Cluster cluster, const std::vector<std::string>& names);

}  // namespace railbed

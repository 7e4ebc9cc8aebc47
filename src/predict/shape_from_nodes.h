// Determines a cluster's shape from the facts of its nodes, or from cluster.yaml alone.
#pragma once

#include <map>
#include <string>

#include "predict/cluster_shape.h"

namespace railbed {

struct Cluster;
struct Facts;
struct CollectiveReport;

// Returns the shape from the facts of the nodes with GPUs; without such facts, from the rails, expectations and parts
// of `cluster`. If the nodes differ, it is the slowest kind's, a note names a node of each, and `others` has the other
// kinds. `words` override both sources. `facts` are by node name. Fails if the GPU is unknown, or if several nodes have
// facts and no adapter states its speed.
Result<ClusterShape> shape_from_nodes(const Cluster& cluster, const std::map<std::string, Facts>& facts,
                                      const ShapeWords& words = {});

// Sets the number of nodes and GPUs that took part in a measurement, with the adapters of these GPUs, the version of
// NCCL, and the GPUs' product as settle_gpu() does.
void fit_to_report(ClusterShape& shape, const CollectiveReport& report);

// Sets the GPUs' product if that is an open question and the measurement names one that is known.
void settle_gpu(ClusterShape& shape, const CollectiveReport& report);

}  // namespace railbed

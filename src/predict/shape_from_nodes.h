// A cluster's shape from the facts of its nodes, or from cluster.yaml alone.
#pragma once

#include <map>
#include <string>

#include "predict/cluster_shape.h"

namespace railbed {

struct Cluster;
struct Facts;
struct CollectiveReport;

// `facts` by node name; those of the first node with GPUs count, since nodes are alike. Without any, rails,
// expectations and parts of `cluster` do. An error where nothing says what GPUs there are. `words` override.
Result<ClusterShape> shape_from_nodes(const Cluster& cluster, const std::map<std::string, Facts>& facts,
                                      const ShapeWords& words = {});

// As many nodes and GPUs as took part in a measurement, and the NCCL that they used.
void fit_to_report(ClusterShape& shape, const CollectiveReport& report);

}  // namespace railbed

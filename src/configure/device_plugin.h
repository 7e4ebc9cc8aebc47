// The configuration by which NVIDIA's device plugin shares GPUs in Kubernetes, from `configure.gpu_sharing`.
#pragma once

#include <string>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// Returns a ConfigMap with the configuration of each kind of node, behind comments with the commands that use it. Fails if
// no node has GPUs that Kubernetes is to share (`replicas`), and for what check_sharing() refuses.
Result<std::string> device_plugin_manifest(const Cluster& cluster);

}  // namespace railbed

// The speeds of parts of cluster.yaml: from the file, else from the tables of models.
#pragma once

#include <optional>

#include "base/units.h"
#include "inventory/cluster.h"

namespace railbed {

// Return the speed of each port of a switch, of a cable, and of an adapter as this fabric; nullopt if neither the file
// nor a table has it, zero if the adapter does not support the fabric.
std::optional<BitRate> switch_speed(const ClusterPart& part);
std::optional<BitRate> cable_speed(const ClusterPart& part);
std::optional<BitRate> adapter_speed(const ClusterPart& part, Fabric fabric);

}  // namespace railbed

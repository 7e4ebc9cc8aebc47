// The speeds of parts of cluster.yaml: from the file, else from the tables of models.
#pragma once

#include <optional>

#include "base/units.h"
#include "inventory/cluster.h"

namespace railbed {

// Return the speed of each port of a switch, and of a cable; nullopt if neither the file nor a table has it.
std::optional<BitRate> switch_speed(const ClusterPart& part);
std::optional<BitRate> cable_speed(const ClusterPart& part);

}  // namespace railbed

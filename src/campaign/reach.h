// How nodes are reached: words for ssh, deadlines, agents for other architectures.
#pragma once

#include "fleet/fleet.h"

namespace railbed {

using ReachOptions = fleet::FleetOptions;

}  // namespace railbed

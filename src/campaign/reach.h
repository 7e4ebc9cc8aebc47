// How nodes are reached: words for ssh, deadlines, agents for other architectures.
#pragma once

#include "fleet/fleet.h"
#include "fleet/hashed_file.h"
#include "fleet/kubernetes_text.h"
#include "fleet/slurm_text.h"

namespace railbed {

using ReachOptions = fleet::FleetOptions;

// Connections that nobody made before: what was there may outlive a network that lets no new one in.
ReachOptions made_anew(ReachOptions reach);

}  // namespace railbed

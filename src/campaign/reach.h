// The options for reaching nodes: options for ssh, deadlines, agents for other architectures.
#pragma once

#include "fleet/fleet.h"
#include "fleet/hashed_file.h"
#include "fleet/kubernetes_text.h"
#include "fleet/slurm_text.h"

namespace railbed {

using ReachOptions = fleet::FleetOptions;

// Returns options that make new connections instead of sharing existing ones: an established connection may
// survive on a network that no longer accepts new ones.
ReachOptions made_anew(ReachOptions reach);

}  // namespace railbed

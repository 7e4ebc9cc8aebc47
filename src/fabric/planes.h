// XDR in planes. A switch such as Quantum-X800 has four ASICs, each a node of the subnet ("MF0;leaf1:Q3400_RA/U2"), and an
// adapter has as many ports of one GUID. A cable carries one lane of each plane, so that it is four links of 1xXDR.
#pragma once

#include <string_view>

#include "fabric/counters.h"
#include "fabric/subnet.h"

namespace railbed {

// Returns the number of a switch's plane by its description, "MF0;leaf1:Q3400_RA/U2" or ".../U2/RT"; 0 for another name.
int plane_of(std::string_view description);

// Makes one node of the planes of each switch, and one link of the planes of each cable: as wide as it has planes.
// `counters`, which may be null, keep the planes that they were read of. Leaves the subnet as it is if it has no planes,
// or if planes of one port lead to different places. Indices of nodes change.
void merge_planes(IbFabric& fabric, IbCounterLook* counters = nullptr);

}  // namespace railbed

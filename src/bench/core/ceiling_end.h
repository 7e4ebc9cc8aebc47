// Converts an end of a pair to the form that the calculation of ceilings and floors takes.
#pragma once

#include "bench/core/pair.h"
#include "hardware/ceilings.h"

namespace railbed {

inline CeilingEnd ceiling_end(const PairEnd& end) { return {end.peer->node(), end.interface, end.facts}; }

}  // namespace railbed

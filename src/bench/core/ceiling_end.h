// An end of a pair, as ceilings and floors ask about it.
#pragma once

#include "bench/core/pair.h"
#include "hardware/ceilings.h"

namespace railbed {

inline CeilingEnd ceiling_end(const PairEnd& end) { return {end.peer->node(), end.interface, end.facts}; }

}  // namespace railbed

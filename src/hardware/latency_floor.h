// The lower limit of a message's latency between two nodes, calculated from facts and published figures.
// Nothing is measured.
#pragma once

#include <cstdint>
#include <optional>

#include "hardware/ceilings.h"

namespace railbed {

// The message whose latency is calculated.
struct Trip {
  Wire wire = Wire::kRoceV2Ipv4;
  int mtu = 0;
  std::uint64_t message_bytes = 0;
  std::optional<bool> switched = {};  // a switch is between the ends; nullopt if not known
  bool to_the_answer = false;         // a read: the request goes there and the message comes back
};

// Returns the floor of half a round trip, or of the whole one for a read. It has no parts, only a note, for
// virtual links, within one machine, without facts, and if no link states its speed.
Floor latency_floor(const CeilingEnd& a, const CeilingEnd& b, const Trip& trip);

}  // namespace railbed

// The least that a message can take from one node to another: arithmetic on facts and published figures,
// nothing measured.
#pragma once

#include <cstdint>
#include <optional>

#include "hardware/ceilings.h"

namespace railbed {

struct Trip {
  Wire wire = Wire::kRoceV2Ipv4;
  int mtu = 0;
  std::uint64_t message_bytes = 0;
  std::optional<bool> switched = {};  // whether a switch is between the ends; nothing: it is not known
  bool to_the_answer = false;         // a read: its request goes there, the message comes back
};

// Of half a round trip, or of the whole one to the answer. None for virtual links, for one machine with
// itself, and where no link states its speed.
Floor latency_floor(const CeilingEnd& a, const CeilingEnd& b, const Trip& trip);

}  // namespace railbed

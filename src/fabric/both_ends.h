// Shared by the readers of subnets' files: both ends of a cable must state the same.
#pragma once

#include <vector>

#include "base/complaint.h"
#include "fabric/subnet.h"

namespace railbed {

inline constexpr std::size_t kMostFabricComplaints = 20;

// An end whose cable a line of a file states.
struct StatedEnd {
  IbEnd end;
  Spot spot;
};

// Fills in a cable at the other end where only one states it. Complains about a cable whose ends state
// different things, unless nodes share a GUID; neither is reliable then.
void check_both_ends(IbFabric& fabric, const std::vector<StatedEnd>& stated, Complaints& complaints);

// Returns a node's description as one printable line of at most 192 bytes: NodeDescription has 64, each of which may
// become three.
std::string shown_description(std::string_view text);

}  // namespace railbed

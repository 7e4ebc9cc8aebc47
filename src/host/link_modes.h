// Speeds of the link mode bits in ETHTOOL_GLINKSETTINGS.
#pragma once

#include <cstdint>
#include <span>

namespace railbed {

// Returns the speed in Mb/s of the fastest mode in a mask of link modes; 0 if the mask has no known mode.
int fastest_link_mode(std::span<const std::uint32_t> mask);

}  // namespace railbed

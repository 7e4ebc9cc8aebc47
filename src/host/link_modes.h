// What the bits of ETHTOOL_GLINKSETTINGS stand for.
#pragma once

#include <cstdint>
#include <span>

namespace railbed {

// Mb/s of the fastest mode that a mask of link modes holds; 0 where it holds none that is known.
int fastest_link_mode(std::span<const std::uint32_t> mask);

}  // namespace railbed

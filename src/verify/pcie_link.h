// Comparison of PCI Express links: a device's current link against what it and its slot support.
#pragma once

#include <algorithm>

#include "facts/facts.h"

namespace railbed {

// Returns the fastest link that both ends of a hop support.
inline PcieLink common(const PcieLink& a, const PcieLink& b) {
  return {std::min(a.gigatransfers, b.gigatransfers), std::min(a.width, b.width)};
}

// Returns true if the link is slower or narrower than `most`.
inline bool below(const PcieLink& now, const PcieLink& most) {
  return now.gigatransfers < most.gigatransfers || now.width < most.width;
}

}  // namespace railbed

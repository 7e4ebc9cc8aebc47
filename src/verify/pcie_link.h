// PCI Express links compared: what a device has against what it and its slot can do.
#pragma once

#include <algorithm>

#include "facts/facts.h"

namespace railbed {

// What both ends of a hop can do together.
inline PcieLink common(const PcieLink& a, const PcieLink& b) {
  return {std::min(a.gigatransfers, b.gigatransfers), std::min(a.width, b.width)};
}

inline bool below(const PcieLink& now, const PcieLink& most) {
  return now.gigatransfers < most.gigatransfers || now.width < most.width;
}

}  // namespace railbed

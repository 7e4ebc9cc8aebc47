#include "host/link_modes.h"

#include <algorithm>
#include <cstddef>

namespace railbed {
namespace {

// Bits of enum ethtool_link_mode_bit_indices, include/uapi/linux/ethtool.h up to Linux 6.18. Bits without a
// speed (Autoneg, FEC_RS) are in no range.
struct Modes {
  std::size_t first;
  std::size_t last;
  int mbps;
};
constexpr Modes kModes[] = {
    {0, 1, 10},         {2, 3, 100},        {4, 5, 1000},       {12, 12, 10000},     {15, 15, 2500},
    {17, 17, 1000},     {18, 20, 10000},    {21, 22, 20000},    {23, 26, 40000},     {31, 33, 25000},
    {34, 35, 50000},    {36, 39, 100000},   {40, 40, 50000},    {41, 41, 1000},      {42, 46, 10000},
    {47, 47, 2500},     {48, 48, 5000},     {52, 56, 50000},    {57, 61, 100000},    {62, 66, 200000},
    {67, 67, 100},      {68, 68, 1000},     {69, 73, 400000},   {75, 79, 100000},    {80, 84, 200000},
    {85, 89, 400000},   {90, 91, 100},      {92, 92, 10},       {93, 98, 800000},    {99, 102, 10},
    {103, 108, 200000}, {109, 114, 400000}, {115, 120, 800000}, {121, 124, 1600000},
};

bool has(std::span<const std::uint32_t> mask, std::size_t bit) {
  return bit / 32 < mask.size() && (mask[bit / 32] >> (bit % 32) & 1) != 0;
}

}  // namespace

int fastest_link_mode(std::span<const std::uint32_t> mask) {
  int fastest = 0;
  for (const Modes& modes : kModes)
    for (std::size_t bit = modes.first; bit <= modes.last; ++bit)
      if (has(mask, bit)) fastest = std::max(fastest, modes.mbps);
  return fastest;
}

}  // namespace railbed

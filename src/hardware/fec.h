// What forward error correction of Ethernet links mends.
#pragma once

#include <string_view>

namespace railbed {

struct FecLimit {
  std::string_view name;
  double bit_errors;  // share of wrong bits before the correction that the standard allows
  std::string_view source;
};

inline constexpr FecLimit kFecOf25G = {"RS(528,514)", 5e-5,
                                       "IEEE 802.3-2022, 95.1.1 (100GBASE-SR4) and 112.1.1 (25GBASE-SR)"};
inline constexpr FecLimit kFecOf50G = {
    "RS(544,514)", 2.4e-4, "IEEE 802.3-2022, 124.1.1 (400GBASE-DR4), 138.1.1 (50GBASE-SR to 200GBASE-SR4)"};

// Returns the correction of a link by its rate and the lanes of its module; null if it is not certain. Lanes of 50 Gb/s and
// more (PAM4) always have RS(544,514); those of 25 Gb/s have RS(528,514) if they have any that counts; slower ones have none.
constexpr const FecLimit* fec_of(int mbps, int lanes) {
  constexpr int kOf25G = 25'000;
  constexpr int kOf200G = 200'000;
  if (mbps >= kOf200G) return &kFecOf50G;
  if (lanes > 0 && mbps == lanes * kOf25G) return &kFecOf25G;
  return nullptr;
}

}  // namespace railbed

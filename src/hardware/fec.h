// What forward error correction of Ethernet links mends.
#pragma once

#include <algorithm>
#include <string_view>

#include "facts/network/net.h"

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

// Returns the correction of a link by its rate, the lanes of its module (0 if not known) and the mode that its driver
// states (None if it states none); null if it is not certain. Lanes of 50 Gb/s and more (PAM4) always have RS(544,514);
// those of 25 Gb/s have RS(528,514) if they have any that counts; slower ones have none.
constexpr const FecLimit* fec_of(int mbps, int lanes, FecMode active) {
  constexpr int kOf25G = 25'000;
  constexpr int kOf200G = 200'000;
  if (active != FecMode::kRs && active != FecMode::kNone) return nullptr;
  if (mbps >= kOf200G) return &kFecOf50G;
  if (lanes > 0 && mbps == lanes * kOf25G) return &kFecOf25G;
  return active == FecMode::kRs && mbps == kOf25G ? &kFecOf25G : nullptr;
}

// Returns the correction that a tool names: "RS-FEC - (544,514) + PLR", "Standard RS-FEC - RS(528,514)"; null if it is none
// of the two, as RS(271,257) of short InfiniBand cables.
constexpr const FecLimit* fec_named(std::string_view name) {
  if (name.find("(544,514)") != name.npos) return &kFecOf50G;
  return name.find("(528,514)") != name.npos ? &kFecOf25G : nullptr;
}

// Returns whether a link of this rate may need one error correction at both ends: that begins with lanes of 25 Gb/s. 40 and
// 56 Gb/s are four lanes of 10 and 14.
constexpr bool has_correction(int mbps) { return mbps >= 25'000 && mbps != 40'000 && mbps != 56'000; }

// Share of blocks that a link may lose: as many as 64-octet frames are wrong at a bit error ratio of 1e-12, the objective
// of IEEE 802.3 at the MAC (P. Anslow on the reflector of 802.3bm, 23 November 2012). Links of 200 Gb/s and more may lose
// fewer; this is the limit of all.
inline constexpr double kLostBlocks = 5.1e-10;
// Fewer lost blocks are no rate.
inline constexpr int kLeastLostBlocks = 10;

// Returns the bits of frames that a block carries; 0 if not known. RS has 20 blocks of 257 bits from 256, BaseR 32 of 65
// bits from 64 (IEEE 802.3-2022, 91.5.2.5 and 74.7.4).
constexpr double block_bits(FecMode active) {
  return active == FecMode::kRs ? 20 * 256 : active == FecMode::kBaseR ? 32 * 64 : 0;
}

// Returns whether two ends of one cable can agree on a mode: both list one in common, one of them chooses by itself, or one
// does not state what it may use.
inline bool may_agree(const FecState& one, const FecState& other) {
  const auto open = [](const FecState& fec) {
    return fec.configured.empty() ||
           std::ranges::find(fec.configured, FecMode::kAuto) != fec.configured.end() ||
           std::ranges::find(fec.configured, FecMode::kOther) != fec.configured.end();
  };
  return open(one) || open(other) ||
         std::ranges::find_first_of(one.configured, other.configured) != one.configured.end();
}

}  // namespace railbed

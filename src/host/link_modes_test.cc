#include "host/link_modes.h"

#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include <array>

namespace railbed {
namespace {

using Mask = std::array<std::uint32_t, 4>;

Mask mask_of(std::initializer_list<std::size_t> bits) {
  Mask mask = {};
  for (const std::size_t bit : bits) mask[bit / 32] |= 1U << (bit % 32);
  return mask;
}

TEST(LinkModes, TheFastestOfAMask) {
  EXPECT_EQ(fastest_link_mode(mask_of({})), 0);
  EXPECT_EQ(fastest_link_mode(
                mask_of({ETHTOOL_LINK_MODE_10000baseKR_Full_BIT, ETHTOOL_LINK_MODE_25000baseCR_Full_BIT})),
            25000);
  EXPECT_EQ(fastest_link_mode(
                mask_of({ETHTOOL_LINK_MODE_100000baseCR4_Full_BIT, ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT})),
            100000);
  EXPECT_EQ(fastest_link_mode(mask_of({ETHTOOL_LINK_MODE_400000baseCR4_Full_BIT})), 400000);
  EXPECT_EQ(fastest_link_mode(mask_of({124})), 1600000);  // newer than Debian 12's header
}

TEST(LinkModes, NoSpeedInBitsThatStateNone) {
  EXPECT_EQ(fastest_link_mode(mask_of({ETHTOOL_LINK_MODE_Autoneg_BIT, ETHTOOL_LINK_MODE_FEC_RS_BIT,
                                       ETHTOOL_LINK_MODE_FEC_LLRS_BIT, ETHTOOL_LINK_MODE_Pause_BIT})),
            0);
  // ConnectX-3 supports 56 Gb/s and runs at 40 unless configured otherwise.
  EXPECT_EQ(fastest_link_mode(
                mask_of({ETHTOOL_LINK_MODE_56000baseCR4_Full_BIT, ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT})),
            40000);
}

TEST(LinkModes, AMaskMayBeShort) {
  const std::array<std::uint32_t, 1> old = {1U << ETHTOOL_LINK_MODE_10000baseT_Full_BIT};
  EXPECT_EQ(fastest_link_mode(old), 10000);
}

}  // namespace
}  // namespace railbed

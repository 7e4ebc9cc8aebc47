#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>

#include "host/calls.h"
#include "host/device_calls.h"
#include "os/netlink.h"

namespace railbed {
namespace {

using Modes = std::vector<FecMode>;
using Lanes = std::vector<std::uint64_t>;

template <class Number>
std::string bytes(std::initializer_list<Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(Number)};
}

std::string bitset(std::initializer_list<std::uint32_t> words) {
  std::string set;
  append_attribute(set, ETHTOOL_A_BITSET_NOMASK, "");
  append_attribute(set, ETHTOOL_A_BITSET_SIZE, bytes<std::uint32_t>({92}));
  append_attribute(set, ETHTOOL_A_BITSET_VALUE, bytes(words));
  return set;
}

constexpr std::uint32_t kRs = 1U << (ETHTOOL_LINK_MODE_FEC_RS_BIT % 32);
constexpr std::uint32_t kBaseR = 1U << (ETHTOOL_LINK_MODE_FEC_BASER_BIT % 32);
constexpr std::uint32_t kLlrs = 1U << (ETHTOOL_LINK_MODE_FEC_LLRS_BIT % 32);

// net/ethtool/fec.c writes this reply: the header, a compact bitset, Auto, the active bit, statistics with padding.
std::string reply(std::string_view statistics) {
  std::string text;
  append_attribute(text, ETHTOOL_A_FEC_HEADER | NLA_F_NESTED, "");
  append_attribute(text, ETHTOOL_A_FEC_MODES | NLA_F_NESTED, bitset({0, kRs | kBaseR, kLlrs}));
  append_attribute(text, ETHTOOL_A_FEC_AUTO, bytes<std::uint8_t>({1}));
  append_attribute(text, ETHTOOL_A_FEC_ACTIVE, bytes<std::uint32_t>({ETHTOOL_LINK_MODE_FEC_RS_BIT}));
  append_attribute(text, ETHTOOL_A_FEC_STATS | NLA_F_NESTED, statistics);
  return text;
}

TEST(FecReply, HasModesAndCounters) {
  std::string statistics;
  append_attribute(statistics, ETHTOOL_A_FEC_STAT_PAD, "");
  append_attribute(statistics, ETHTOOL_A_FEC_STAT_CORRECTED, bytes<std::uint64_t>({256, 255, 1}));
  append_attribute(statistics, ETHTOOL_A_FEC_STAT_UNCORR, bytes<std::uint64_t>({7}));
  append_attribute(statistics, ETHTOOL_A_FEC_STAT_CORR_BITS, "");
  const FecState fec = parse_fec_reply(reply(statistics));
  EXPECT_EQ(fec.configured, (Modes{FecMode::kAuto, FecMode::kRs, FecMode::kBaseR, FecMode::kLlrs}));
  EXPECT_EQ(fec.active, FecMode::kRs);
  ASSERT_TRUE(fec.corrected_blocks && fec.uncorrectable_blocks);
  EXPECT_EQ(fec.corrected_blocks->total, 256U);
  EXPECT_EQ(fec.corrected_blocks->lanes, (Lanes{255, 1}));
  EXPECT_EQ(fec.uncorrectable_blocks->total, 7U);
  EXPECT_TRUE(fec.uncorrectable_blocks->lanes.empty());
  EXPECT_FALSE(fec.corrected_bits)
      << "an attribute without numbers is a counter that the driver lacks, not 0";
}

TEST(FecReply, ALinkThatIsDownHasNoActiveMode) {
  std::string text;
  append_attribute(text, ETHTOOL_A_FEC_MODES | NLA_F_NESTED, bitset({0, kRs, 0}));
  append_attribute(text, ETHTOOL_A_FEC_AUTO, bytes<std::uint8_t>({0}));
  const FecState fec = parse_fec_reply(text);
  EXPECT_EQ(fec.configured, Modes{FecMode::kRs});
  EXPECT_EQ(fec.active, FecMode::kNone);
  EXPECT_FALSE(fec.corrected_blocks || fec.uncorrectable_blocks || fec.corrected_bits);
}

TEST(FecReply, AModeOfALaterKernelIsNotTakenForAnother) {
  std::string text;
  append_attribute(text, ETHTOOL_A_FEC_ACTIVE, bytes<std::uint32_t>({200}));
  EXPECT_EQ(parse_fec_reply(text).active, FecMode::kOther);
}

TEST(FecReply, ALimitOfLanesHolds) {
  std::string statistics;
  append_attribute(statistics, ETHTOOL_A_FEC_STAT_UNCORR, std::string(8 * 500, '\1'));
  EXPECT_EQ(parse_fec_reply(reply(statistics)).uncorrectable_blocks->lanes.size(), kMostFecLanes);
  const std::string whole = reply(statistics);
  for (std::size_t size = 0; size < 200; ++size)
    (void)parse_fec_reply(std::string_view(whole).substr(0, size));
}

TEST(FecCall, AnInterfaceWithoutCorrectionIsUnsupported) {
  const auto fec = call_system("fec lo");
  ASSERT_FALSE(fec.ok());
  EXPECT_EQ(fec.miss().missing, Missing::kUnsupported);
  EXPECT_FALSE(call_system("fec railbed-none").ok());
  EXPECT_FALSE(call_system("fec a-name-of-more-than-15").ok());
}

}  // namespace
}  // namespace railbed

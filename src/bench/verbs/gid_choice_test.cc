#include "bench/verbs/gid_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;

GidOffer offer(int index, std::string_view gid, std::string type = "RoCE v2", int prefix = 24,
               std::string netdev = "eth1") {
  return {index, *IpAddress::parse(gid), std::move(type), std::move(netdev), prefix};
}
GidSide side(std::string node, std::vector<GidOffer> offers) {
  return {std::move(node), "eth1", std::move(offers)};
}

const std::string kV1 = "IB/RoCE v1";

// A usual GID table of one port: link-local and IPv4, each as v1 and v2.
GidSide usual(std::string node, int host) {
  const std::string v4 = "10.0.0." + std::to_string(host);
  const std::string local = "fe80::" + std::to_string(host);
  return side(std::move(node),
              {offer(0, local, kV1, 64), offer(1, local, "RoCE v2", 64), offer(2, v4, kV1), offer(3, v4)});
}

TEST(ChooseGids, TakesV2Ipv4OfOneSubnet) {
  const auto pair = choose_gids(usual("a", 1), usual("b", 2));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a.index, 3);
  EXPECT_EQ(pair->b.index, 3);
  EXPECT_EQ(pair->doubt, "");
}

TEST(ChooseGids, IndexesMayDiffer) {
  const auto pair = choose_gids(usual("a", 1), side("b", {offer(7, "10.0.0.2"), offer(9, "10.0.0.2", kV1)}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a.index, 3);
  EXPECT_EQ(pair->b.index, 7);
}

TEST(ChooseGids, SubnetDecidesAmongSeveralAddresses) {
  const auto pair = choose_gids(side("a", {offer(1, "10.0.0.1"), offer(2, "10.1.0.1")}),
                                side("b", {offer(4, "10.2.0.2"), offer(5, "10.1.0.2")}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a.index, 2);
  EXPECT_EQ(pair->b.index, 5);
}

TEST(ChooseGids, SubnetBeatsIpv4) {
  const auto pair = choose_gids(side("a", {offer(1, "10.0.0.1"), offer(2, "fd00::1", "RoCE v2", 64)}),
                                side("b", {offer(1, "10.9.0.2"), offer(2, "fd00::2", "RoCE v2", 64)}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a.index, 2);
  EXPECT_EQ(pair->doubt, "");
}

TEST(ChooseGids, BothPrefixesMustAgree) {
  const auto pair = choose_gids(side("a", {offer(1, "10.0.0.1", "RoCE v2", 16)}),
                                side("b", {offer(1, "10.0.9.2", "RoCE v2", 24)}));
  ASSERT_TRUE(pair);
  EXPECT_THAT(pair->doubt, HasSubstr("different subnets"));
}

TEST(ChooseGids, DifferentSubnetsAreDoubtfulOnV2AndImpossibleOnV1) {
  const auto routed = choose_gids(side("a", {offer(1, "10.0.0.1")}), side("b", {offer(1, "10.9.0.2")}));
  ASSERT_TRUE(routed);
  EXPECT_THAT(routed->doubt, HasSubstr("10.0.0.1 and 10.9.0.2 are in different subnets"));
  const auto none =
      choose_gids(side("a", {offer(1, "10.0.0.1", kV1)}), side("b", {offer(1, "10.9.0.2", kV1)}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text, HasSubstr("a offers 10.0.0.1 (IB/RoCE v1)"));
}

TEST(ChooseGids, V1WhereOneSideHasNothingElse) {
  const auto pair = choose_gids(usual("a", 1), side("b", {offer(5, "10.0.0.2", kV1)}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a.index, 2);
  EXPECT_EQ(pair->b.index, 5);
}

TEST(ChooseGids, AddressedV1BeatsLinkLocalV2) {
  const auto pair =
      choose_gids(usual("a", 1), side("b", {offer(0, "fe80::2", "RoCE v2", 64), offer(5, "10.0.0.2", kV1)}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->b.index, 5);
}

TEST(ChooseGids, LinkLocalOnlyWhereThereIsNothingElse) {
  const auto pair = choose_gids(usual("a", 1), side("b", {offer(0, "fe80::2", "RoCE v2", 64)}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->a.index, 1);
  EXPECT_THAT(pair->doubt, HasSubstr("link-local"));
}

TEST(ChooseGids, VlanOnTheSamePortIsNotTheRail) {
  const auto none = choose_gids(usual("a", 1), side("b", {offer(5, "10.0.0.2", "RoCE v2", 24, "eth1.100")}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text, HasSubstr("eth1 of b has no GID"));
}

TEST(ChooseGids, SilentKernelOnNetdevIsAccepted) {
  const auto pair = choose_gids(usual("a", 1), side("b", {offer(5, "10.0.0.2", "RoCE v2", 24, "")}));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->b.index, 5);
}

TEST(ChooseGids, FamiliesDoNotMix) {
  const auto none =
      choose_gids(side("a", {offer(1, "10.0.0.1")}), side("b", {offer(1, "fd00::2", "RoCE v2", 64)}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text, HasSubstr("no GIDs that can meet"));
}

TEST(ChooseGids, NothingOfferedIsSaid) {
  const auto none = choose_gids(side("a", {}), usual("b", 2));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text, HasSubstr("eth1 of a has no GID"));
}

}  // namespace
}  // namespace railbed

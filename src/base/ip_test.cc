#include "base/ip.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Ip, ParsesAddressesAndGids) {
  const auto v4 = IpAddress::parse("10.0.0.1");
  ASSERT_TRUE(v4);
  EXPECT_TRUE(v4->is_v4());
  EXPECT_EQ(IpAddress::parse("0000:0000:0000:0000:0000:ffff:0a00:0001"), v4);
  EXPECT_EQ(v4->to_text(), "10.0.0.1");
  EXPECT_TRUE(IpAddress::parse("fe80:0000:0000:0000:5054:00ff:fe00:0001")->is_link_local());
  EXPECT_TRUE(IpAddress::parse("0000:0000:0000:0000:0000:0000:0000:0000")->is_zero());
  EXPECT_TRUE(IpAddress::parse("169.254.1.1")->is_link_local());
  EXPECT_FALSE(IpAddress::parse("10.0.0.256"));
  EXPECT_FALSE(IpAddress::parse(""));
}

TEST(Ip, KnowsWhatASubnetHolds) {
  const auto subnet = Subnet::parse("10.0.0.0/24");
  ASSERT_TRUE(subnet);
  EXPECT_TRUE(subnet->contains(*IpAddress::parse("10.0.0.7")));
  EXPECT_FALSE(subnet->contains(*IpAddress::parse("10.0.1.7")));
  EXPECT_FALSE(subnet->contains(*IpAddress::parse("fe80::1")));
  EXPECT_EQ(Subnet::of(*IpAddress::parse("10.0.0.7"), 24), subnet);
  EXPECT_EQ(subnet->to_text(), "10.0.0.0/24");
  EXPECT_FALSE(Subnet::parse("10.0.0.1/24"));
  EXPECT_FALSE(Subnet::parse("10.0.0.0/33"));
  EXPECT_TRUE(Subnet::parse("fd00:1::/64"));
}

TEST(Ip, CountsUpAndStopsAtTheEnd) {
  EXPECT_EQ(IpAddress::parse("10.0.0.250")->plus(10), IpAddress::parse("10.0.1.4"));
  EXPECT_EQ(IpAddress::parse("fd00::ffff")->plus(1), IpAddress::parse("fd00::1:0"));
  EXPECT_FALSE(IpAddress::parse("255.255.255.255")->plus(1));
  EXPECT_EQ(Subnet::parse("10.0.0.0/22")->last(), IpAddress::parse("10.0.3.255"));
  EXPECT_EQ(Subnet::parse("fd00::/64")->last(), IpAddress::parse("fd00::ffff:ffff:ffff:ffff"));
}

}  // namespace
}  // namespace railbed

#include "model/watched_link.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

constexpr double kLinkBegin = 1'768'824'000;

Optics module_of(const std::string& serial, double milliwatts) {
  Optics optics;
  optics.serial = serial;
  optics.lanes = {{.number = 1, .receive = milliwatts}, {.number = 2, .receive = 0.0}};
  return optics;
}

LinkSample link_sample(double when, std::uint64_t corrected, double milliwatts = 1) {
  return {kLinkBegin + when, true, 400'000, module_of("A1", milliwatts), corrected};
}

TEST(WatchedLink, DividesCorrectedBitsByThoseThatWereReceived) {
  WatchedLink link = next_link({}, link_sample(0, 1000));
  EXPECT_FALSE(link.bit_errors) << "one reading is no rate";
  link = next_link(link, link_sample(300, 1000 + 1'200'000));
  ASSERT_TRUE(link.bit_errors);
  EXPECT_DOUBLE_EQ(*link.bit_errors, 1e-8);
  EXPECT_NEAR(link.bit_error_powers.today.back(), -8, 1e-9);
  link = next_link(link, link_sample(600, 1000 + 1'200'000));
  EXPECT_EQ(link.bit_errors, 0.0);
  EXPECT_EQ(link.bit_error_powers.today.back(), -15);
}

TEST(WatchedLink, NoRateWhereAReadingIsMissing) {
  const WatchedLink before = next_link({}, link_sample(0, 1000));
  LinkSample now = link_sample(300, 5000);
  now.corrected_bits.reset();
  EXPECT_FALSE(next_link(before, now).bit_errors);
  EXPECT_FALSE(next_link(before, link_sample(300, 3)).bit_errors) << "the driver was loaded anew";
  EXPECT_FALSE(next_link(before, link_sample(5, 5000)).bit_errors) << "too short";
  EXPECT_FALSE(next_link(before, link_sample(7200, 5000)).bit_errors) << "too long";
  now = link_sample(300, 5000);
  now.speed_mbps = 0;
  EXPECT_FALSE(next_link(before, now).bit_errors);
  now.speed_mbps = 200'000;
  EXPECT_FALSE(next_link(before, now).bit_errors) << "the rate has changed in between";
}

TEST(WatchedLink, FollowsTheLightOfLanesWhileTheLinkIsUp) {
  WatchedLink link = next_link({}, link_sample(0, 0));
  ASSERT_EQ(link.receive.size(), 1U) << "a lane without light is none of this link's";
  EXPECT_EQ(link.receive.at("1").today, std::vector<double>{0});
  LinkSample down = link_sample(300, 0, 0.0);
  down.carrier = false;
  link = next_link(link, down);
  EXPECT_EQ(link.receive.at("1").today.size(), 1U);
  LinkSample unread = link_sample(600, 0);
  unread.optics.reset();
  link = next_link(link, unread);
  EXPECT_EQ(link.receive.at("1").today.size(), 1U);
  EXPECT_FALSE(link.optics);
}

TEST(WatchedLink, AnotherModuleBeginsAnew) {
  WatchedLink link = next_link({}, link_sample(0, 0));
  LinkSample swapped = link_sample(300, 0);
  swapped.optics = module_of("B2", 0.5);
  link = next_link(link, swapped);
  ASSERT_EQ(link.receive.at("1").today.size(), 1U);
  EXPECT_NEAR(link.receive.at("1").today[0], -3.01, 0.01);
}

TEST(WatchedLink, LightInDecibels) {
  EXPECT_NEAR(dbm_of(1), 0, 1e-9);
  EXPECT_NEAR(dbm_of(0.0467), -13.31, 0.01);
  EXPECT_EQ(dbm_of(0), -40);
}

TEST(Fec, IsThatOfTheLanes) {
  EXPECT_EQ(fec_of(400'000, 4), &kFecOf50G);
  EXPECT_EQ(fec_of(200'000, 0), &kFecOf50G);
  EXPECT_EQ(fec_of(100'000, 4), &kFecOf25G);
  EXPECT_EQ(fec_of(25'000, 1), &kFecOf25G);
  EXPECT_EQ(fec_of(100'000, 2), nullptr) << "two lanes of 50 Gb/s, or a module that shows half of its lanes";
  EXPECT_EQ(fec_of(100'000, 0), nullptr) << "copper: nobody knows";
  EXPECT_EQ(fec_of(40'000, 4), nullptr);
  EXPECT_EQ(fec_of(0, 0), nullptr);
}

}  // namespace
}  // namespace railbed

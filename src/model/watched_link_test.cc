#include "model/watched.h"

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

LinkSample counted_sample(double when, std::uint64_t lost, FecMode active = FecMode::kRs) {
  LinkSample sample = link_sample(when, 0);
  sample.fec = FecState{.active = active, .uncorrectable_blocks = FecCounter{lost, {}}};
  sample.carrier_changes = 2;
  return sample;
}

TEST(WatchedLink, CountsBlocksThatAreLost) {
  const WatchedLink before = next_link({}, counted_sample(0, 100));
  EXPECT_FALSE(before.lost) << "one reading is no rate";
  const WatchedLink link = next_link(before, counted_sample(600, 100 + 46'875));
  ASSERT_TRUE(link.lost && link.lost->share);
  EXPECT_EQ(link.lost->count, 46'875U);
  EXPECT_DOUBLE_EQ(*link.lost->share, 1e-6) << "of 400 Gb/s in blocks of 5120 bits for 600 s";
}

TEST(WatchedLink, NoLostBlocksAreKnownOfALinkThatCameOrWent) {
  const WatchedLink before = next_link({}, counted_sample(0, 100));
  LinkSample flapped = counted_sample(600, 900);
  flapped.carrier_changes = 4;
  EXPECT_FALSE(next_link(before, flapped).lost) << "training loses blocks";
  EXPECT_FALSE(next_link(before, flapped).bit_errors);
  EXPECT_FALSE(next_link(before, counted_sample(600, 3)).lost) << "the driver was loaded anew";
  EXPECT_FALSE(next_link(before, counted_sample(600, 900, FecMode::kBaseR)).lost) << "another correction";
  LinkSample silent = counted_sample(600, 900);
  silent.fec->uncorrectable_blocks.reset();
  EXPECT_FALSE(next_link(before, silent).lost) << "not reported is not 0";
  silent.fec.reset();
  EXPECT_FALSE(next_link(before, silent).lost);
}

TEST(WatchedLink, BlocksOfAnUnknownSizeHaveNoShare) {
  const WatchedLink before = next_link({}, counted_sample(0, 0, FecMode::kLlrs));
  const WatchedLink link = next_link(before, counted_sample(600, 900, FecMode::kLlrs));
  ASSERT_TRUE(link.lost);
  EXPECT_FALSE(link.lost->share);
}

TEST(WatchedLink, LinksAreThoseThatWereRead) {
  Counts counts;
  InterfaceCounts& interface = counts.interfaces.emplace_back();
  interface.link.name = "ens1";
  interface.link.carrier = {true, "test"};
  interface.link.speed_mbps = {400'000, "test"};
  interface.link.carrier_changes = {std::uint64_t{2}, "test"};
  const FecState fec{.active = FecMode::kRs, .corrected_bits = FecCounter{5, {}}};
  auto links = next_links({{"gone", {}}}, {{"ens1", {.fec = fec}}}, counts, kLinkBegin);
  ASSERT_EQ(links.size(), 1U);
  EXPECT_TRUE(links.at("ens1").carrier);
  EXPECT_EQ(links.at("ens1").corrected_bits, 5U) << "of drivers without a counter of their own";
  interface.driver.emplace(kCorrectedBits, 7);
  links = next_links(std::move(links), {{"ens1", {.fec = fec}}}, counts, kLinkBegin + 300);
  EXPECT_EQ(links.at("ens1").corrected_bits, 7U);
}

TEST(Watched, WhatIsOldIsNotJudged) {
  Watched watched;
  watched.links["ens1"] = next_link(next_link({}, counted_sample(0, 0)), counted_sample(600, 900));
  watched.work.when = kLinkBegin + 600;
  const auto now = judged_at(watched, kLinkBegin + 700);
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->links.at("ens1").lost);
  const auto later = judged_at(watched, kLinkBegin + 5000);
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->links.at("ens1").lost || later->links.at("ens1").optics || later->links.at("ens1").fec);
  EXPECT_EQ(later->work.when, 0);
  EXPECT_FALSE(judged_at({}, kLinkBegin));
}

TEST(Fec, TheDriversModeDecides) {
  EXPECT_EQ(fec_of(25'000, 0, FecMode::kRs), &kFecOf25G);
  EXPECT_EQ(fec_of(100'000, 0, FecMode::kRs), nullptr) << "one lane, two or four";
  for (const FecMode mode : {FecMode::kOff, FecMode::kBaseR, FecMode::kLlrs, FecMode::kOther})
    EXPECT_EQ(fec_of(100'000, 4, mode), nullptr);
}

TEST(Fec, TwoEndsAgreeUnlessTheirModesDiffer) {
  const auto set = [](std::vector<FecMode> modes) { return FecState{.configured = std::move(modes)}; };
  EXPECT_FALSE(may_agree(set({FecMode::kRs}), set({FecMode::kOff})));
  EXPECT_FALSE(may_agree(set({FecMode::kRs}), set({FecMode::kOff, FecMode::kBaseR})));
  EXPECT_TRUE(may_agree(set({FecMode::kRs}), set({FecMode::kRs})));
  EXPECT_TRUE(may_agree(set({FecMode::kRs}), set({FecMode::kRs, FecMode::kBaseR})))
      << "all that ice supports";
  EXPECT_TRUE(may_agree(set({FecMode::kRs}), set({FecMode::kAuto})));
  EXPECT_TRUE(may_agree(set({FecMode::kRs}), set({FecMode::kOther}))) << "unknown";
  EXPECT_TRUE(may_agree(set({FecMode::kRs}), set({}))) << "not stated";
}

TEST(Fec, IsThatOfTheLanes) {
  EXPECT_EQ(fec_of(400'000, 4, FecMode::kNone), &kFecOf50G);
  EXPECT_EQ(fec_of(200'000, 0, FecMode::kNone), &kFecOf50G);
  EXPECT_EQ(fec_of(100'000, 4, FecMode::kNone), &kFecOf25G);
  EXPECT_EQ(fec_of(25'000, 1, FecMode::kNone), &kFecOf25G);
  EXPECT_EQ(fec_of(100'000, 2, FecMode::kNone), nullptr)
      << "two lanes of 50 Gb/s, or a module that shows half of its lanes";
  EXPECT_EQ(fec_of(100'000, 0, FecMode::kNone), nullptr) << "copper: nobody knows";
  EXPECT_EQ(fec_of(40'000, 4, FecMode::kNone), nullptr);
  EXPECT_EQ(fec_of(0, 0, FecMode::kNone), nullptr);
}

}  // namespace
}  // namespace railbed

#include "verify/mend.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

Rule rule() {
  Rule made{};
  made.id = "net.mtu";
  made.settings = {"network/rails"};
  return made;
}

Finding about(std::string subject, Things touches = {}) {
  Finding made;
  made.rule = "net.mtu";
  made.subject = std::move(subject);
  made.touches = std::move(touches);
  return made;
}

const std::vector<Need> kOpen = {{.what = "ens6 has MTU 9000", .now = false, .at_boot = true}};
const std::vector<Need> kOpenAtBoot = {{.what = "ens6 has MTU 9000", .now = true, .at_boot = false}};

TEST(Mends, WhatTheRuleNamesAboutTheSameInterface) {
  EXPECT_TRUE(mends("network/rails", {"ens6"}, kOpen, rule(), about("ens6")));
  EXPECT_TRUE(mends("network/rails", {"ens6"}, kOpen, rule(), about("mlx4_0/1", {"netdev:ens6"})));
  EXPECT_TRUE(mends("network/rails", {}, kOpen, rule(), about("ens7"))) << "it is about the whole node";
  EXPECT_FALSE(mends("network/rails", {"ens6"}, kOpen, rule(), about("ens7")));
  EXPECT_FALSE(mends("network/management", {"ens6"}, kOpen, rule(), about("ens6")));
}

// A setting that is met now cannot be the cause now, even if the next boot would lose it.
TEST(Mends, OnlyWhatIsOpenWhenTheRuleLooks) {
  EXPECT_FALSE(mends("network/rails", {"ens6"}, kOpenAtBoot, rule(), about("ens6")));
  Rule of_next_boot = rule();
  of_next_boot.of_next_boot = true;
  EXPECT_TRUE(mends("network/rails", {"ens6"}, kOpenAtBoot, of_next_boot, about("ens6")));
  EXPECT_FALSE(mends("network/rails", {"ens6"}, kOpen, of_next_boot, about("ens6")));
  EXPECT_TRUE(mends("network/rails", {"ens6"}, {{.what = "nobody could look"}}, rule(), about("ens6")));
}

TEST(Mends, NothingThatAPersonHasToClearUpFirst) {
  Finding held_elsewhere = about("ens6");
  held_elsewhere.remedy.by_hand_only = true;
  EXPECT_FALSE(mends("network/rails", {"ens6"}, kOpen, rule(), held_elsewhere));
}

}  // namespace
}  // namespace railbed

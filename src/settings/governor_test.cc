#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kFullClock = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04, governor: performance}
nodes: [gpu1]
)";

Facts with_governors(std::map<std::string, int> governors) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.system.cpu.governors = {std::move(governors), ""};
  return facts;
}

Setting governor_setting(const Facts& facts) {
  const auto settings = sample(kFullClock, {{"gpu1", facts}}).render("gpu1", Section::kGovernor);
  EXPECT_EQ(settings.size(), 1U);
  return settings.empty() ? Setting{} : settings[0];
}

TEST(RenderGovernor, WritesItEarlyAndOnceMoreAfterOthers) {
  const auto settings = sample(kFullClock).render("gpu1", Section::kGovernor);
  ASSERT_EQ(settings.size(), 1U);
  ASSERT_EQ(settings[0].files.size(), 2U);
  EXPECT_EQ(settings[0].files[0].path, "/etc/tmpfiles.d/railbed-governor.conf");
  EXPECT_EQ(settings[0].files[0].content,
            std::string(kFileMark) +
                "w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - performance\n");
  EXPECT_EQ(settings[0].files[1].content,
            std::string(kFileMark) +
                "[Unit]\n"
                "Description=Frequency governor of the processors\n"
                "After=tuned.service cpufrequtils.service cpupower.service power-profiles-daemon.service\n"
                "\n"
                "[Service]\n"
                "Type=oneshot\n"
                "RemainAfterExit=yes\n"
                "ExecStart=systemd-tmpfiles --create /etc/tmpfiles.d/railbed-governor.conf\n"
                "\n"
                "[Install]\n"
                "WantedBy=multi-user.target\n");
}

TEST(RenderGovernor, ComparesEveryProcessor) {
  EXPECT_EQ(governor_setting(with_governors({{"performance", 64}})).needs[0].now, true);
  const Need mixed = governor_setting(with_governors({{"performance", 63}, {"powersave", 1}})).needs[0];
  EXPECT_EQ(mixed.now, false);
  EXPECT_EQ(mixed.found, "powersave");
}

TEST(RenderGovernor, KnowsWhoElseSetsItAtBoot) {
  Facts facts = with_governors({{"performance", 64}});
  EXPECT_FALSE(governor_setting(facts).needs[0].at_boot.has_value());  // it may have been set by hand
  facts.system.services = {std::vector<Service>{{"tuned", "loaded", "active", "enabled", 1}}, ""};
  EXPECT_EQ(governor_setting(facts).needs[0].at_boot, true);
  EXPECT_EQ(governor_setting(facts).notes.size(), 1U);
}

TEST(RenderGovernor, LeavesMachinesAloneThatDoNotScale) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  EXPECT_TRUE(sample(kFullClock, {{"gpu1", facts}}).render("gpu1", Section::kGovernor).empty());
}

TEST(RenderGovernor, FindsTheSavingOneOfAMachine) {
  const auto facts = facts_of_machine("v100-governor-powersave");
  const auto found = std::ranges::any_of(
      facts, [](const auto& node) { return governor_setting(node.second).needs[0].found == "powersave"; });
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace railbed

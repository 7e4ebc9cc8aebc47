#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kRoceNode = R"(
railbed: 1
cluster: one
expect: {os: ubuntu 24.04}
nodes: [gpu1]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]
)";

TEST(RenderLimits, LiftsTheLimitOfLoginsAndOfRoot) {
  const auto settings = sample(kRoceNode).render("gpu1", Section::kLimits);
  ASSERT_EQ(settings.size(), 1U);  // which services run is not known: none is touched
  EXPECT_EQ(settings[0].files[0].path, "/etc/security/limits.d/90-railbed.conf");
  EXPECT_EQ(settings[0].files[0].content, std::string(kFileMark) +
                                              "* soft memlock unlimited\n"
                                              "* hard memlock unlimited\n"
                                              "root soft memlock unlimited\n"
                                              "root hard memlock unlimited\n");
  EXPECT_FALSE(settings[0].needs[0].now.has_value());
}

TEST(RenderLimits, SeesWhatIsUnlimitedAlready) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.system.memory.memlock_soft = {kUnlimited, ""};
  facts.system.memory.memlock_hard = {kUnlimited, ""};
  const auto settings = sample(kRoceNode, {{"gpu1", facts}}).render("gpu1", Section::kLimits);
  ASSERT_EQ(settings.size(), 1U);
  for (const Need& need : settings[0].needs) {
    EXPECT_EQ(need.now, true);
    EXPECT_EQ(need.at_boot, true);
  }
}

TEST(RenderLimits, RestartsNoServiceWhoseJobsWouldDie) {
  Facts facts;
  facts.railbed = "0";
  facts.system.os.id = {"ubuntu", ""};
  facts.system.memory.service_memlock = {{"docker", {65536, ""}}, {"slurmd", {65536, ""}}};
  const auto settings = sample(kRoceNode, {{"gpu1", facts}}).render("gpu1", Section::kLimits);
  ASSERT_EQ(settings.size(), 3U);
  const Setting& slurmd = settings[1];
  const Setting& docker = settings[2];
  EXPECT_EQ(slurmd.files[0].path, "/etc/systemd/system/slurmd.service.d/90-railbed.conf");
  EXPECT_EQ(slurmd.files[0].content, std::string(kFileMark) + "[Service]\nLimitMEMLOCK=infinity\n");
  EXPECT_EQ(slurmd.needs[0].found, "64 KiB");
  ASSERT_EQ(slurmd.steps.size(), 2U);
  EXPECT_EQ(slurmd.steps[1].arguments, std::vector<std::string>{"slurmd.service"});
  EXPECT_EQ(docker.steps.size(), 1U);  // systemd reads its units, and no more
  EXPECT_TRUE(docker.reboot);
}

TEST(RenderLimits, HasNothingToSayWithoutRdma) {
  constexpr std::string_view kEthernet = R"(
railbed: 1
cluster: one
fabric: ethernet
expect: {os: ubuntu 24.04}
nodes: [gpu1]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}]
)";
  EXPECT_TRUE(sample(kEthernet).render("gpu1", Section::kLimits).empty());
}

TEST(RenderLimits, TellsTheSlurmOfAMachine) {
  const auto settings = captured("h100-slurmd-memlock").render("gpu01", Section::kLimits);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].needs[0].now, true);   // logins are well
  EXPECT_EQ(settings[1].needs[0].now, false);  // jobs are not
}

}  // namespace
}  // namespace railbed

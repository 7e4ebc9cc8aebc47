#include "settings/files.h"
#include "settings/testing/sample.h"

namespace railbed {
namespace {

constexpr std::string_view kPair = R"(
railbed: 1
cluster: pair
expect: {os: ubuntu 22.04, socket_buffer: 256 MiB}
nodes: [gpu1]
)";

TEST(RenderSysctl, KeepsSocketBuffersInAFileAndLoadsIt) {
  const auto settings = sample(kPair).render("gpu1", Section::kSysctl);
  ASSERT_EQ(settings.size(), 1U);
  ASSERT_EQ(settings[0].files.size(), 1U);
  EXPECT_EQ(settings[0].files[0].content,
            std::string(kFileMark) + "net.core.rmem_max = 268435456\nnet.core.wmem_max = 268435456\n");
  EXPECT_EQ(settings[0].steps, (std::vector<NodeStep>{{StepKind::kLoadSysctl, {settings[0].files[0].path}}}));
  EXPECT_FALSE(settings[0].needs[0].now.has_value());  // no facts
}

TEST(RenderSysctl, SeesWhatTheNodeHasAlready) {
  Facts facts;
  facts.railbed = "0";
  facts.system.sysctl["net.core.rmem_max"] = {"268435456", ""};
  facts.system.sysctl["net.core.wmem_max"] = {"212992", ""};
  facts.system.sysctl_at_boot = {
      std::vector<BootSetting>{{"net.core.rmem_max", "268435456", "/etc/sysctl.conf"}}, ""};
  const auto settings = sample(kPair, {{"gpu1", facts}}).render("gpu1", Section::kSysctl);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].needs[0].now, true);
  EXPECT_EQ(settings[0].needs[0].at_boot, true);
  EXPECT_EQ(settings[0].needs[1].now, false);
  EXPECT_EQ(settings[0].needs[1].found, "212992");
}

}  // namespace
}  // namespace railbed

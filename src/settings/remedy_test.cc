#include "settings/remedy.h"

#include <gmock/gmock.h>

#include "settings/files.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> by_hand(const Setting& setting) {
  std::vector<std::string> lines;
  for (const ShellCommand& command : commands_by_hand(setting, {})) lines.push_back(command.text());
  return lines;
}

TEST(RemedyOfASetting, WritesItsFilesAndThenTakesItsSteps) {
  EXPECT_THAT(
      by_hand(
          {.files = {{.path = "/etc/sysctl.d/railbed.conf", .content = "a = 50%\n"},
                     {.path = "/etc/netplan/x.yaml", .content = "it's\n", .mode = 0600}},
           .steps = {{StepKind::kLoadSysctl, {"/etc/sysctl.d/railbed.conf"}}, {StepKind::kApplyNetplan}}}),
      ElementsAre(
          "printf 'a = 50%%\\n' > /etc/sysctl.d/railbed.conf", "mkdir -p /etc/netplan",
          "test -e /etc/netplan/x.yaml && cp -a /etc/netplan/x.yaml '/etc/netplan/x.yaml.railbed-aside~'",
          "printf 'it'\\''s\\n' > /etc/netplan/x.yaml", "chmod 600 /etc/netplan/x.yaml",
          "sysctl --load /etc/sysctl.d/railbed.conf", "netplan apply"));
}

TEST(RemedyOfASetting, MovesAsideWhatContradictsIt) {
  EXPECT_THAT(by_hand({.files = {{.path = "/etc/profile.d/railbed.sh", .content = "x\n"}},
                       .contradictions = {{"/etc/profile.d/nccl.sh", "it sets another value"}}}),
              ElementsAre("mkdir -p /etc/profile.d", "printf 'x\\n' > /etc/profile.d/railbed.sh",
                          "mv /etc/profile.d/nccl.sh '/etc/profile.d/nccl.sh.railbed-aside~'"));
}

TEST(RemedyOfASetting, LeavesTheLinesOfOthers) {
  const auto lines = by_hand({.files = {{.path = "/etc/hosts", .content = "10.0.0.1 a\n", .block = true}}});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].substr(0, 63), "grep -qs '^# railbed end$' /etc/hosts && sed -i '/^# railbed be");
  EXPECT_EQ(lines[1], "test -s /etc/hosts && sed -i '$a\\' /etc/hosts");
  EXPECT_EQ(lines[2], "printf '" + printf_text(with_block("", "10.0.0.1 a\n")) + "' >> /etc/hosts");
}

TEST(RemedyOfASetting, CorrectsLinesOfHosts) {
  const HostsCorrection correction{.seen = {{"127.0.1.1 gpu1.x gpu1", "10.0.0.1 gpu1.x gpu1"}}};
  const auto lines = by_hand(
      {.files = {{.path = "/etc/hosts", .content = "10.0.0.1 gpu1\n", .block = true, .hosts = correction}}});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(
      lines[1],
      "sed -i -E 's/^[[:space:]]*127[.]0[.]1[.]1[[:space:]]+gpu1[.]x[[:space:]]+gpu1([[:space:]]*(#.*)?)$/"
      "10.0.0.1 gpu1.x gpu1\\1/' /etc/hosts");
}

// A name that cannot be one of a unit, an interface or a package is left out rather than quoted.
TEST(RemedyOfASetting, TakesNoStepWithAHostileName) {
  EXPECT_THAT(by_hand({.steps = {{StepKind::kEnableUnit, {"x.service;reboot"}},
                                 {StepKind::kInstallPackages, {"--allow-downgrades"}}}}),
              IsEmpty());
}

}  // namespace
}  // namespace railbed

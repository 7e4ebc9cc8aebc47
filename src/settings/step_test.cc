#include "settings/step.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Step, TakesNothingThatCouldBeAnOptionOrAShell) {
  EXPECT_TRUE(check_step({StepKind::kLoadModule, {"ib_umad"}}));
  EXPECT_TRUE(check_step({StepKind::kReloadUnits, {}}));
  EXPECT_TRUE(check_step({StepKind::kInstallPackages, {"libnccl2=2.28.9-1+cuda12.8"}}));
  EXPECT_TRUE(check_step({StepKind::kEnableStream, {"nvidia-driver:580-open"}}));
  EXPECT_TRUE(check_step({StepKind::kReloadSshd, {}}));
  EXPECT_FALSE(check_step({StepKind::kEnableStream, {"nvidia-driver; reboot"}}));
  EXPECT_FALSE(check_step({StepKind::kLoadModule, {}}));
  EXPECT_FALSE(check_step({StepKind::kLoadModule, {"-r"}}));
  EXPECT_FALSE(check_step({StepKind::kLoadModule, {"ib_umad; reboot"}}));
  EXPECT_FALSE(check_step({StepKind::kReloadUnits, {"more"}}));
  EXPECT_FALSE(check_step({StepKind::kLoadSysctl, {"/etc/../root/x"}}));
  EXPECT_FALSE(check_step({StepKind::kLoadSysctl, {"/tmp/x"}}));
  EXPECT_FALSE(check_step({StepKind::kEnableUnit, {"../x"}}));
}

TEST(Step, IsTheProgramOfThatSystem) {
  const Platform debian{.family = OsFamily::kDebian};
  const Platform rhel{.family = OsFamily::kRhel};
  EXPECT_EQ(commands_of({StepKind::kUpdateGrub, {}}, debian),
            (std::vector<std::vector<std::string>>{{"update-grub"}}));
  EXPECT_EQ(commands_of({StepKind::kSetLinkDown, {"eno3", "eno4"}}, debian),
            (std::vector<std::vector<std::string>>{{"ip", "link", "set", "dev", "eno3", "down"},
                                                   {"ip", "link", "set", "dev", "eno4", "down"}}));
  EXPECT_EQ(commands_of({StepKind::kSetLinkUp, {"ens6"}}, rhel),
            (std::vector<std::vector<std::string>>{{"ip", "link", "set", "dev", "ens6", "up"}}));
  EXPECT_FALSE(check_step({StepKind::kSetLinkUp, {"-all"}}));
  EXPECT_EQ(commands_of({StepKind::kHoldPackages, {"libnccl2"}}, rhel),
            (std::vector<std::vector<std::string>>{{"dnf", "versionlock", "add", "libnccl2"}}));
  EXPECT_EQ(commands_of({StepKind::kReloadSshd, {}}, rhel),
            (std::vector<std::vector<std::string>>{{"/usr/sbin/sshd", "-t"},
                                                   {"systemctl", "try-reload-or-restart", "sshd.service"}}));
  EXPECT_EQ(
      commands_of({StepKind::kLoadConnections, {"/etc/NetworkManager/system-connections/rail0.nmconnection"}},
                  rhel)
          .at(1),
      (std::vector<std::string>{"nmcli", "connection", "up", "id", "rail0"}));
}

}  // namespace
}  // namespace railbed

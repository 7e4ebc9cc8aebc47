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

const std::string kFingerprint = "EB693B3035CD5710E231E123A4B469963BF863CC";

TEST(Step, FetchesKeysIntoItsOwnFilesAlone) {
  const auto takes = [](std::vector<std::string> arguments) {
    return check_step({StepKind::kFetchKey, std::move(arguments)}).has_value();
  };
  const std::string file = "/etc/apt/railbed-nvidia-cuda.asc";
  const std::string url = "https://mirror.example:8443/cuda/repos/ubuntu2404/sbsa/3bf863cc.pub";
  EXPECT_TRUE(takes({file, url, kFingerprint}));
  EXPECT_TRUE(takes({"/etc/pki/rpm-gpg/railbed-nvidia-cuda.asc", url, kFingerprint}));
  EXPECT_FALSE(takes({file, url}));
  EXPECT_FALSE(takes({url, file, kFingerprint}));
  EXPECT_FALSE(takes({"/etc/apt/trusted.gpg.d/x.asc", url, kFingerprint}));
  EXPECT_FALSE(takes({"/etc/apt/railbed-/../../shadow.asc", url, kFingerprint}));
  EXPECT_FALSE(takes({file, "https://user:word@mirror.example/k", kFingerprint}));
  EXPECT_FALSE(takes({file, "file:///etc/shadow", kFingerprint}));
  EXPECT_FALSE(takes({file, "https://mirror.example/k --output /etc/x", kFingerprint}));
  EXPECT_FALSE(takes({file, url, "3BF863CC"}));  // a short name is easily forged
  EXPECT_FALSE(takes({file, url, "eb693b3035cd5710e231e123a4b469963bf863cc"}));
}

TEST(Step, TrustsAKeyByItsFingerprintAndNothingThatCameWithIt) {
  const NodeStep step{StepKind::kFetchKey,
                      {"/etc/apt/railbed-x.asc", "https://a.example/k.pub", kFingerprint}};
  const auto debian = commands_of(step, {.family = OsFamily::kDebian});
  const auto rhel = commands_of(step, {.family = OsFamily::kRhel});
  ASSERT_EQ(rhel.size(), 6U);
  EXPECT_EQ(std::vector(debian.begin() + 2, debian.end()), rhel);  // Debian installs curl and gnupg first
  EXPECT_EQ(debian[1].back(), "gnupg");
  EXPECT_EQ(rhel[1].back(), "https://a.example/k.pub");
  EXPECT_EQ(rhel[3].back(), kFingerprint);  // fails without that key
  EXPECT_EQ(rhel[4].at(rhel[4].size() - 2), "/etc/apt/railbed-x.asc");
  EXPECT_EQ(rhel[4].back(), kFingerprint);
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

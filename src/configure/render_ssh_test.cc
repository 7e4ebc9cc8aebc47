#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "configure/files.h"
#include "configure/testing/sample.h"

namespace railbed {
namespace {

using testing::HasSubstr;

constexpr std::string_view kWithKeys = R"(
railbed: 1
cluster: pair
fabric: roce
topology: back-to-back
expect: {os: ubuntu 22.04}
configure: {user: ops, authorized_keys: ["ssh-ed25519 AAAAC3Nza ops@desk", "ssh-rsa AAAAB3Nza ops@home"]}
nodes: ["gpu[1-2]"]
rails:
  - {name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1}
)";

TEST(RenderSsh, KeysLieInAFolderOfRootsBesideTheUsersOwn) {
  const auto settings = sample(kWithKeys).render("gpu1", Section::kSsh);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].risk, Risk::kAccess);
  EXPECT_EQ(settings[0].files,
            (std::vector<DesiredFile>{
                {.path = "/etc/ssh/authorized_keys.d/ops",
                 .content =
                     std::string(kFileMark) + "ssh-ed25519 AAAAC3Nza ops@desk\nssh-rsa AAAAB3Nza ops@home\n"},
                {.path = "/etc/ssh/sshd_config.d/90-railbed.conf",
                 .content = std::string(kFileMark) +
                            "Match User ops\n"
                            "    AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2 "
                            "/etc/ssh/authorized_keys.d/%u\n"}}));
  EXPECT_EQ(settings[0].steps, (std::vector<NodeStep>{{StepKind::kReloadSshd, {}}}));
}

TEST(RenderSsh, ANodeHasOneHostKeyByEachOfItsNames) {
  const auto settings = sample(kWithKeys).render("gpu1", Section::kSsh);
  EXPECT_EQ(settings.at(1).files.at(0).content, std::string(kFileMark) +
                                                    "Host gpu1 gpu1-rail0\n    HostKeyAlias gpu1\n"
                                                    "Host gpu2 gpu2-rail0\n    HostKeyAlias gpu2\n");
  EXPECT_EQ(settings[1].files[0].content.find("StrictHostKeyChecking"), std::string::npos);
}

TEST(RenderSsh, IsNotAskedForByOtherKeys) {
  EXPECT_TRUE(sample("railbed: 1\ncluster: one\nexpect: {os: ubuntu 22.04}\nnodes: [gpu1]\n")
                  .render("gpu1", Section::kSsh)
                  .empty());
}

// What the system's own sshd makes of the block; empty: it is not here, or it refuses.
std::string sshd_says(const std::filesystem::path& folder, const std::string& user) {
  const std::string command =
      "cd '" + folder.string() + "' && rm -f key key.pub && ssh-keygen -q -t ed25519 -N '' -f key && " +
      "/usr/sbin/sshd -T -h '" + (folder / "key").string() + "' -f sshd_config -C user=" + user +
      ",host=h,addr=127.0.0.1 > answer 2>/dev/null";
  if (std::system(command.c_str()) != 0) return "";
  std::ifstream answer(folder / "answer");
  std::ostringstream text;
  text << answer.rdbuf();
  return text.str();
}

// The site keeps everybody's keys in one folder, in lines that come after the Include as they do on Debian
// and RHEL.
TEST(RenderSsh, SshdTakesTheBlockForThatUserAlone) {
  const std::filesystem::path folder = testing::TempDir() + "railbed-sshd";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "90-railbed.conf")
      << sample(kWithKeys).render("gpu1", Section::kSsh)[0].files[1].content;
  std::ofstream(folder / "sshd_config") << "Include " << (folder / "90-railbed.conf").string()
                                        << "\nX11Forwarding yes\nAuthorizedKeysFile /etc/ssh/of/%u\n";
  const std::string of_root = sshd_says(folder, "root");
  if (of_root.empty()) GTEST_SKIP() << "there is no sshd that answers";
  EXPECT_THAT(of_root, HasSubstr("\nauthorizedkeysfile /etc/ssh/of/%u\n"));
  EXPECT_THAT(of_root, HasSubstr("\nx11forwarding yes\n"));
  EXPECT_THAT(sshd_says(folder, "ops"),
              HasSubstr("\nauthorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2 "
                        "/etc/ssh/authorized_keys.d/%u\n"));
}

}  // namespace
}  // namespace railbed

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "facts/network/ssh.h"
#include "host/tree.h"
#include "settings/files.h"
#include "settings/testing/sample.h"

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

TEST(RenderSsh, ANodeHasOneHostKeyByEachOfItsNamesAndAddresses) {
  const auto settings = sample(kWithKeys).render("gpu1", Section::kSsh);
  EXPECT_EQ(settings.at(1).files.at(0).content, std::string(kFileMark) +
                                                    "Host gpu1 gpu1-rail0 10.0.0.1\n    HostKeyAlias gpu1\n"
                                                    "Host gpu2 gpu2-rail0 10.0.0.2\n    HostKeyAlias gpu2\n");
  EXPECT_EQ(settings[1].files[0].content.find("StrictHostKeyChecking"), std::string::npos);
}

TEST(RenderSsh, IsNotAskedForByOtherKeys) {
  EXPECT_TRUE(sample("railbed: 1\ncluster: one\nexpect: {os: ubuntu 22.04}\nnodes: [gpu1]\n")
                  .render("gpu1", Section::kSsh)
                  .empty());
}

PublicKey key_of(const std::string& text) {
  const auto key = PublicKey::parse(text);
  EXPECT_TRUE(key) << text;
  return key.value_or(PublicKey{});
}
const std::string kFirst = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGISr1lYjKwKPdG7ZFYCmhP2VezYkcSrC+s1IBJTHmK";
const std::string kSecond =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIF5VoDgeY1WzjwsQyCmFA/a/2pzbLk6OSo4LAKmjSBXn";
const std::string kOfRsa =
    "ssh-rsa "
    "AAAAB3NzaC1yc2EAAAADAQABAAAAgQC/kplmDZj9Heofa49MR+nP4AIQ/e2Z6k/s2WlnthQGRXvnE/f79Nq3keZPUn"
    "FxRCsqZb9Bmf2hZz4/VazM/sb2RFOjMXI3lzcgPSJnNMT9wvt59EiOZm43Kl0hek9qVDC1EFqEOjZw+ly7wWdSFJiR"
    "GLUwS7zG7+bESCQgC569yw==";

Facts with_keys(const std::vector<std::string>& keys, const std::string& known_hosts = "") {
  Facts facts;
  facts.railbed = "test";
  std::vector<HostKey> own;
  for (const std::string& text : keys) {
    const PublicKey key = key_of(text);
    own.push_back({"/etc/ssh/some.pub", key, fingerprint_of(key)});
  }
  facts.system.ssh.host_keys = {own, "/etc/ssh"};
  Tree tree;
  EXPECT_TRUE(tree.set("/etc/ssh/ssh_known_hosts", {TreeEntry::Kind::kFile, known_hosts}));
  facts.system.ssh.known_hosts = collect_ssh(*open_tree(tree)).known_hosts;
  return facts;
}

Setting known_hosts_setting(const std::map<std::string, Facts>& facts, const std::string& node = "gpu1") {
  auto settings = sample(kWithKeys, facts).render(node, Section::kSsh);
  EXPECT_EQ(settings.size(), 3U);
  return settings.size() == 3 ? settings[2] : Setting{};
}

TEST(RenderSsh, NodesKnowEachOthersKeysByTheNameOfTheAlias) {
  const Setting setting =
      known_hosts_setting({{"gpu1", with_keys({kFirst})}, {"gpu2", with_keys({kSecond})}});
  EXPECT_EQ(setting.title, "host keys of 2 nodes in /etc/ssh/ssh_known_hosts");
  EXPECT_EQ(setting.files,
            (std::vector<DesiredFile>{{.path = "/etc/ssh/ssh_known_hosts",
                                       .content = "gpu1 " + kFirst + "\ngpu2 " + kSecond + "\n",
                                       .block = true}}));
  ASSERT_EQ(setting.needs.size(), 1U);
  EXPECT_EQ(setting.needs[0].now, false);
  EXPECT_EQ(setting.needs[0].found, "not those of gpu1, gpu2");
  EXPECT_EQ(setting.doubt, "");
}

TEST(RenderSsh, KeysThatAreKnownAlreadyAreMetWhoeverWroteThem) {
  const std::string known = "gpu1,10.0.0.1 " + kFirst + "\nGPU2 " + kSecond + " by hand\n";
  const Setting setting =
      known_hosts_setting({{"gpu1", with_keys({kFirst}, known)}, {"gpu2", with_keys({kSecond})}});
  EXPECT_EQ(setting.needs.at(0).now, true);
  EXPECT_EQ(setting.needs[0].at_boot, true);
}

TEST(RenderSsh, AfterTheBlockIsWrittenNothingIsLeftToDo) {
  const std::map<std::string, Facts> fresh = {{"gpu1", with_keys({kFirst})}, {"gpu2", with_keys({kSecond})}};
  const std::string written =
      with_block("other " + kOfRsa + "\n", known_hosts_setting(fresh).files.at(0).content);
  const auto cluster =
      sample(kWithKeys, {{"gpu1", with_keys({kFirst}, written)}, {"gpu2", fresh.at("gpu2")}});
  const std::vector<Setting> setting = {cluster.render("gpu1", Section::kSsh).at(2)};
  EXPECT_EQ(setting[0].needs.at(0).now, true);
  EXPECT_EQ(setting[0].files.at(0).content, known_hosts_setting(fresh).files.at(0).content);
}

// A plan of some nodes, or one while a node is down, removes no keys of the others.
TEST(RenderSsh, WhatRailbedWroteOfANodeThatNobodyLookedAtStays) {
  const std::string ours = "gpu1 " + kFirst + "\ngpu2 " + kSecond + "\n";
  const Setting setting = known_hosts_setting({{"gpu1", with_keys({kFirst}, with_block("", ours))}});
  EXPECT_EQ(setting.files.at(0).content, ours);
  EXPECT_THAT(setting.notes.at(0), HasSubstr("host keys of gpu2"));
  EXPECT_EQ(setting.needs.at(0).now, true);
  const Setting of_others = known_hosts_setting({{"gpu1", with_keys({kFirst}, ours)}});
  EXPECT_EQ(of_others.files.at(0).content, "gpu1 " + kFirst + "\n");
}

TEST(RenderSsh, AChangedKeyWaitsForAPerson) {
  const std::string before = with_block("", "gpu1 " + kFirst + "\ngpu2 " + kFirst + "\n");
  const auto cluster =
      sample(kWithKeys, {{"gpu1", with_keys({kFirst}, before)}, {"gpu2", with_keys({kSecond})}});
  const std::vector<Setting> setting = {cluster.render("gpu1", Section::kSsh).at(2)};
  EXPECT_THAT(setting[0].doubt, HasSubstr("gpu2 has the host key " + fingerprint_of(key_of(kSecond)) +
                                          " and not " + fingerprint_of(key_of(kFirst))));
}

TEST(RenderSsh, ANewKindOfKeyIsNoChangeButOtherKindsAloneAre) {
  const auto doubt = [](const std::string& known, const std::vector<std::string>& now) {
    return known_hosts_setting({{"gpu1", with_keys({kFirst}, known)}, {"gpu2", with_keys(now)}}).doubt;
  };
  EXPECT_EQ(doubt("gpu2 " + kSecond + "\n", {kSecond, kOfRsa}), "");
  EXPECT_EQ(doubt("gpu2 " + kOfRsa + "\n", {kSecond, kOfRsa}), "") << "its RSA key is known, if not told";
  EXPECT_NE(doubt("gpu2 " + kOfRsa + "\n", {kSecond}), "");
  EXPECT_NE(doubt("gpu2 " + kSecond + "\n", {kOfRsa}), "");
}

TEST(RenderSsh, OfRsaOnlyWhereThereIsNoOtherKey) {
  const Setting setting =
      known_hosts_setting({{"gpu1", with_keys({kOfRsa, kFirst})}, {"gpu2", with_keys({kOfRsa})}});
  EXPECT_EQ(setting.files.at(0).content, "gpu1 " + kFirst + "\ngpu2 " + kOfRsa + "\n");
}

// Returns sshd's resulting setting; empty if sshd is missing or rejects the block.
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

// The site keeps all keys in one folder, in lines that follow the Include, as on Debian and RHEL.
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

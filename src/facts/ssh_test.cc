#include "facts/ssh.h"

#include <gmock/gmock.h>

#include "facts/capture.h"
#include "facts/mask.h"
#include "host/tree.h"

namespace railbed {
namespace {

using testing::ElementsAre;

const std::string kEd25519 =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGISr1lYjKwKPdG7ZFYCmhP2VezYkcSrC+s1IBJTHmK";
const std::string kEcdsa =
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBNNdeftD63UYq+oYVkKI/TGPMCME5oh/"
    "ci7fwUEydwjUIZ+qgwvrnCKjfVLajSz/fLb4uWFphZ9OUFyYa96puYI=";

Tree tree(const std::string& text) {
  auto parsed = parse_tree("railbed-tree 1\n" + text, "test", nullptr);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text);
  return parsed.value_or(Tree{});
}

Ssh ssh_of(const std::string& text) { return collect_ssh(*open_tree(tree(text))); }

std::string file(const std::string& path, const std::string& content) {
  return path + " <<END\n" + content + "\nEND\n";
}

std::vector<std::string> files_of(const Ssh& ssh) {
  std::vector<std::string> files;
  for (const HostKey& key : items(ssh.host_keys)) files.push_back(key.file);
  return files;
}

const std::string kBoth = file("/etc/ssh/ssh_host_ed25519_key.pub", kEd25519 + " root@gpu1") +
                          file("/etc/ssh/ssh_host_ecdsa_key.pub", kEcdsa) +
                          file("/etc/ssh/other.pub", kEcdsa);

TEST(Ssh, KeysAreThoseThatSshdUses) {
  const Ssh plain = ssh_of(kBoth);
  EXPECT_THAT(files_of(plain),
              ElementsAre("/etc/ssh/ssh_host_ed25519_key.pub", "/etc/ssh/ssh_host_ecdsa_key.pub"));
  EXPECT_EQ(plain.host_keys->front().key.to_text(), kEd25519);
  // The form that `ssh-keygen -l` prints.
  EXPECT_EQ(plain.host_keys->front().fingerprint, "SHA256:nXpINRNvn/vc6CtAc4XmEvrz9h0e0UlUa+0nX4I9y7s");
  EXPECT_THAT(
      files_of(ssh_of(kBoth + file("/etc/ssh/sshd_config",
                                   "#HostKey /etc/ssh/ssh_host_rsa_key\nhostkey \"/etc/ssh/other\""))),
      ElementsAre("/etc/ssh/other.pub"));
  EXPECT_THAT(
      files_of(ssh_of(kBoth +
                      file("/etc/ssh/sshd_config",
                           "Include /etc/ssh/sshd_config.d/*.conf\nHostKey=/etc/ssh/ssh_host_ecdsa_key") +
                      file("/etc/ssh/sshd_config.d/10-ours.conf", "HostKey /etc/ssh/other"))),
      ElementsAre("/etc/ssh/other.pub", "/etc/ssh/ssh_host_ecdsa_key.pub"));
  // Without Include sshd does not read that folder.
  EXPECT_EQ(files_of(ssh_of(kBoth + file("/etc/ssh/sshd_config", "Port 22") +
                            file("/etc/ssh/sshd_config.d/10-ours.conf", "HostKey /etc/ssh/other")))
                .size(),
            2U);
  EXPECT_EQ(files_of(ssh_of(kBoth + "/etc/ssh/sshd_config ! EACCES\n")).size(), 2U);
}

TEST(Ssh, WithoutAKeyItSaysWhy) {
  EXPECT_TRUE(ssh_of("/etc/hostname = x\n").host_keys.absent());
  const Ssh odd = ssh_of(file("/etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 AAAA"));
  EXPECT_EQ(odd.host_keys.miss().missing, Missing::kGarbled);
  EXPECT_EQ(odd.host_keys.from(), "/etc/ssh/ssh_host_ed25519_key.pub");
}

TEST(Ssh, KnownHostsAreItsPlainLines) {
  const Ssh ssh = ssh_of(file("/etc/ssh/ssh_known_hosts",
                              "# ours\ngpu1,10.0.0.1 " + kEd25519 +
                                  " a comment\n|1|c2FsdA==|aGFzaA== " + kEd25519 + "\n@revoked gpu1 " +
                                  kEcdsa + "\ngpu3 ssh-ed25519 nonsense\n# railbed begin: written\ngpu2 " +
                                  kEcdsa + "\n# railbed end\n"));
  ASSERT_EQ(ssh.known_hosts->size(), 2U);
  EXPECT_THAT(ssh.known_hosts->at(0).names, ElementsAre("gpu1", "10.0.0.1"));
  EXPECT_FALSE(ssh.known_hosts->at(0).railbed);
  EXPECT_EQ(ssh.known_hosts->at(1).key.to_text(), kEcdsa);
  EXPECT_TRUE(ssh.known_hosts->at(1).railbed);
}

TEST(Ssh, ACaptureKeepsWhatIsUsedAndAMaskedOneNoNameOfTheMachine) {
  const std::string all = kBoth + file("/etc/ssh/sshd_config", "Port 2222\nHostKey /etc/ssh/other") +
                          file("/etc/ssh/ssh_known_hosts", "gpu1 " + kEd25519 + "\n|1|c2FsdA==|aGFzaA== x y");
  const auto host = open_tree(tree(all));
  Tree kept = capture(*host);
  EXPECT_EQ(kept.find("/etc/ssh/sshd_config")->content, "HostKey /etc/ssh/other\n");
  EXPECT_EQ(kept.find("/etc/ssh/ssh_known_hosts")->content, "gpu1 " + kEd25519 + "\n");
  EXPECT_EQ(kept.find("/etc/ssh/other.pub")->content, kEcdsa + "\n");
  EXPECT_EQ(files_of(collect_ssh(*open_tree(kept))), files_of(collect_ssh(*host)));
  Mask mask;
  EXPECT_EQ(write_tree(masked(kept, mask)).find("AAAA"), std::string::npos);
}

TEST(Ssh, FactsWithAFingerprintOfAnotherKeyAreRefused) {
  Facts facts;
  HostKey key{"/etc/ssh/ssh_host_ed25519_key.pub", *PublicKey::parse(kEd25519), ""};
  key.fingerprint = fingerprint_of(key.key);
  facts.system.ssh.host_keys = {{key}, "/etc/ssh"};
  EXPECT_TRUE(facts_from_json(facts_to_json(facts)));
  key.fingerprint = fingerprint_of(*PublicKey::parse(kEcdsa));
  facts.system.ssh.host_keys = {{key}, "/etc/ssh"};
  EXPECT_FALSE(facts_from_json(facts_to_json(facts)));
}

}  // namespace
}  // namespace railbed

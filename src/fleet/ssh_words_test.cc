#include "fleet/ssh_words.h"

#include <gmock/gmock.h>

namespace railbed::fleet {
namespace {

using testing::ElementsAre;

const std::string kOne = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGISr1lYjKwKPdG7ZFYCmhP2VezYkcSrC+s1IBJTHmK";
const std::string kOther = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIF5VoDgeY1WzjwsQyCmFA/a/2pzbLk6OSo4LAKmjSBXn";
const std::string kEcdsaKey =
    "ecdsa-sha2-nistp256 "
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBNNdeftD63UYq+oYVkKI/TGPMCME5oh/"
    "ci7fwUEydwjUIZ+qgwvrnCKjfVLajSz/fLb4uWFphZ9OUFyYa96puYI=";

PublicKey key(const std::string& text) {
  const auto parsed = PublicKey::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(PublicKey{});
}

SshWay way_of(const std::string& text) {
  const auto way = parse_ssh_way(text);
  EXPECT_TRUE(way) << (way ? "" : way.error().text);
  return way.value_or(SshWay{});
}

TEST(SshWay, IsWhatSshSaysOfADestination) {
  const SshWay plain = way_of(
      "hostname GPU1.lab\nport 2222\nuserknownhostsfile /home/a/.ssh/known_hosts /home/a/.ssh/known_hosts2\n"
      "globalknownhostsfile /dev/null\nhashknownhosts yes\nstricthostkeychecking false\nproxyjump none\n");
  EXPECT_EQ(plain.known_name(), "[gpu1.lab]:2222");
  EXPECT_THAT(plain.user_files, ElementsAre("/home/a/.ssh/known_hosts", "/home/a/.ssh/known_hosts2"));
  EXPECT_TRUE(plain.global_files.empty());
  EXPECT_TRUE(plain.hashed);
  EXPECT_TRUE(plain.unchecked);
  EXPECT_EQ(plain.proxy, "");
  const SshWay other = way_of("hostname 10.0.0.1\nport 22\nhostkeyalias gpu1\nproxyjump ops@gate:22\n");
  EXPECT_EQ(other.known_name(), "gpu1");
  EXPECT_EQ(other.proxy, "ProxyJump ops@gate:22");
  EXPECT_EQ(way_of("hostname 10.0.0.1\nport 22\n").known_name(), "10.0.0.1");
}

// For ssh-keyscan, a comma would mean two hosts, a slash a network, and a dash an option.
TEST(SshWay, IsRefusedWhereItIsNotOneHost) {
  for (const std::string host : {"", "a,b", "10.0.0.0/8", "-f/etc/passwd", "a b", "a\x1b[2J"})
    EXPECT_FALSE(parse_ssh_way("hostname " + host + "\nport 22\n")) << host;
  EXPECT_FALSE(parse_ssh_way("hostname a\nport 0\n"));
  EXPECT_FALSE(parse_ssh_way("hostname a\nport 22\nhostkeyalias a\x01\n"));
}

TEST(Scan, TakesWholeLinesOfThatHostAlone) {
  const SshWay way = way_of("hostname gpu1\nport 2222\n");
  const auto keys = parse_scan(
      "# [gpu1]:2222 SSH-2.0-OpenSSH_9.2\n[gpu1]:2222 " + kOne + "\n[gpu1]:2222 " + kEcdsaKey + "\n", way);
  ASSERT_TRUE(keys);
  EXPECT_THAT(*keys, ElementsAre(key(kOne), key(kEcdsaKey)));
  EXPECT_TRUE(parse_scan("", way)->empty());
  for (const std::string& text : {
           "gpu1 " + kOne,                                     // another port's
           "[gpu1]:2222,gpu2 " + kOne,                         //
           "[gpu1]:2222 " + kOne + " gpu2",                    // more than a key
           "@cert-authority * " + kOne,                        //
           std::string("[gpu1]:2222 ssh-ed25519 AAAA"),        // no key
           "[gpu1]:2222 " + kOne + "\n[gpu1]:2222 " + kOther,  // two of one kind
       })
    EXPECT_FALSE(parse_scan(text, way)) << text;
}

TEST(Found, AreKeysWithTheirMarkers) {
  const auto found =
      parse_found("# Host gpu1 found: line 3\ngpu1 " + kOne + "\n# Host gpu1 found: line 4 REVOKED\n" +
                  "@revoked gpu1 " + kOther + " lost\n@cert-authority gpu1 " + kOther +
                  "\n|1|c2FsdA==|aGFzaA== " + kEcdsaKey + "\ngpu1 ssh-dss AAAA\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].key, key(kOne));
  EXPECT_FALSE(found[0].revoked);
  EXPECT_TRUE(found[1].revoked);
  EXPECT_EQ(found[2].key, key(kEcdsaKey));
}

}  // namespace
}  // namespace railbed::fleet

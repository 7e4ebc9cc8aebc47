#include "campaign/host_keys.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "inventory/load.h"

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

std::vector<std::string> states(const std::vector<OfferedKey>& keys) {
  std::vector<std::string> words;
  for (const OfferedKey& key : keys)
    words.emplace_back(enum_names(HostKeyState{})[static_cast<std::size_t>(key.state)]);
  return words;
}

TEST(JudgeKeys, ByWhatKnownHostsHolds) {
  const std::vector<PublicKey> both = {key(kOne), key(kEcdsaKey)};
  EXPECT_THAT(states(judge_keys(both, {}, nullptr)), ElementsAre("new", "new"));
  EXPECT_THAT(states(judge_keys(both, {{key(kOne)}}, nullptr)), ElementsAre("known", "further"));
  EXPECT_THAT(states(judge_keys(both, {{key(kOther)}, {key(kEcdsaKey)}}, nullptr)),
              ElementsAre("changed", "known"));
  // The node offers none of the known keys, so none of its keys is to be trusted.
  EXPECT_THAT(states(judge_keys({key(kEcdsaKey)}, {{key(kOne)}}, nullptr)), ElementsAre("changed"));
  EXPECT_THAT(states(judge_keys(both, {{key(kOne), true}}, nullptr)), ElementsAre("revoked", "new"));
  EXPECT_EQ(judge_keys({key(kOne)}, {{key(kOther)}}, nullptr)[0].instead_of, fingerprint_of(key(kOther)));
}

TEST(JudgeKeys, ByWhatIsExpected) {
  const std::vector<PublicKey> both = {key(kOne), key(kEcdsaKey)};
  const auto expected = [&](const std::vector<ExpectedKey>& those) {
    std::vector<std::optional<bool>> found;
    for (const OfferedKey& key : judge_keys(both, {}, &those)) found.push_back(key.expected);
    return found;
  };
  const std::string one = fingerprint_of(key(kOne)), other = fingerprint_of(key(kOther));
  EXPECT_THAT(expected({}), ElementsAre(std::nullopt, std::nullopt));
  EXPECT_THAT(expected({{one, ""}}), ElementsAre(true, std::nullopt));
  EXPECT_THAT(expected({{other, ""}}), ElementsAre(false, false));
  EXPECT_THAT(expected({{other, "ssh-ed25519"}, {fingerprint_of(key(kEcdsaKey)), ""}}),
              ElementsAre(false, true));
}

TEST(ExpectedKeys, AreReadLineByLine) {
  const auto cluster =
      parse_cluster("railbed: 1\ncluster: c\nfabric: ethernet\nnodes: ['gpu[1-2]']\n", "cluster.yaml");
  ASSERT_TRUE(cluster) << cluster.error().text;
  const std::string one = fingerprint_of(key(kOne));
  const auto keys = parse_expected_keys(
      "# from the installer\n\ngpu1 " + one + "\ngpu2 " + kOne + " root@gpu2\n", "f", *cluster);
  ASSERT_TRUE(keys) << keys.error().text;
  EXPECT_THAT(keys->at("gpu1"), ElementsAre(ExpectedKey{one, ""}));
  EXPECT_THAT(keys->at("gpu2"), ElementsAre(ExpectedKey{one, "ssh-ed25519"}));
  for (const std::string line : {"gpu1", "gpu1 SHA256:short", "gpu1 ssh-ed25519 AAAA", "gpu1 MD5:00:11"}) {
    const auto refused = parse_expected_keys("\n" + line, "f", *cluster);
    ASSERT_FALSE(refused) << line;
    EXPECT_THAT(refused.error().text, HasSubstr("f:2: expected"));
  }
  EXPECT_THAT(parse_expected_keys("gpu3 " + one, "f", *cluster).error().text,
              HasSubstr("knows no node \"gpu3\""));
}

ClusterHostKeys look_with(const std::string& file, const std::vector<fleet::FoundKey>& known,
                          const std::vector<ExpectedKey>* expected = nullptr) {
  ClusterHostKeys look;
  look.nodes = {{.node = "gpu1",
                 .name = "gpu1",
                 .files = {file},
                 .keys = judge_keys({key(kOne), key(kEcdsaKey)}, known, expected)}};
  return look;
}

struct AddHostKeys : testing::Test {
  const std::string folder = testing::TempDir() + "railbed-host-keys";
  const std::string file = folder + "/new/known_hosts";
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  mode_t mode() const {
    struct stat about = {};
    return stat(file.c_str(), &about) == 0 ? about.st_mode & 0777 : 0;
  }
};

TEST_F(AddHostKeys, NewOnesComeBehindWhatIsThere) {
  ClusterHostKeys look = look_with(file, {});
  EXPECT_EQ(look.exit_code(), kExitWarnings);
  ASSERT_TRUE(add_host_keys(look, false));
  EXPECT_EQ(*read_file(file), "gpu1 " + kOne + "\ngpu1 " + kEcdsaKey + "\n");
  EXPECT_EQ(mode(), 0600U);
  EXPECT_EQ(look.exit_code(), kExitClean);
  ASSERT_TRUE(write_file(file, "# mine", 0640));
  look = look_with(file, {});
  ASSERT_TRUE(add_host_keys(look, false));
  EXPECT_EQ(*read_file(file), "# mine\ngpu1 " + kOne + "\ngpu1 " + kEcdsaKey + "\n");
  EXPECT_EQ(mode(), 0640U);
}

TEST_F(AddHostKeys, OnlyThoseThatAreExpectedWhereSomethingIs) {
  const std::vector<ExpectedKey> expected = {{fingerprint_of(key(kOne)), ""}};
  ClusterHostKeys look = look_with(file, {}, &expected);
  EXPECT_EQ(count_to_add(look, true), 1U);
  ASSERT_TRUE(add_host_keys(look, true));
  EXPECT_EQ(*read_file(file), "gpu1 " + kOne + "\n");
  EXPECT_EQ(look.exit_code(), kExitClean);
}

TEST_F(AddHostKeys, NothingIsWrittenWhileAKeyIsSuspect) {
  ClusterHostKeys look = look_with(file, {{key(kOther)}});
  look.nodes.push_back(look_with(file, {}).nodes[0]);
  EXPECT_EQ(look.exit_code(), kExitFailures);
  EXPECT_FALSE(add_host_keys(look, false));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(AddHostKeys, NamesAreHashedWhereSshWould) {
  if (std::system("command -v ssh-keygen >/dev/null") != 0) GTEST_SKIP() << "there is no ssh-keygen";
  ClusterHostKeys look = look_with(file, {});
  look.nodes[0].hashed = true;
  const auto added = add_host_keys(look, false);
  ASSERT_TRUE(added) << added.error().text;
  const std::string text = *read_file(file);
  EXPECT_THAT(text, testing::StartsWith("|1|"));
  EXPECT_EQ(text.find("gpu1"), std::string::npos);
  EXPECT_EQ(std::system(("ssh-keygen -F gpu1 -f '" + file + "' >/dev/null").c_str()), 0);
}

TEST(ClusterHostKeys, ANodeThatCouldNotBeAskedCountsMoreThanANewOne) {
  ClusterHostKeys look = look_with("/x", {});
  look.nodes.push_back({.node = "gpu2", .error = "no answer"});
  EXPECT_EQ(look.exit_code(), kExitCouldNotLook);
  look.nodes[0] = look_with("/x", {{key(kOne)}}).nodes[0];
  look.nodes.pop_back();
  EXPECT_EQ(look.exit_code(), kExitClean) << "ssh needs one kind of key";
}

}  // namespace
}  // namespace railbed

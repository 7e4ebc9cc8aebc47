#include "bmc/login.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

Cluster cluster_of(std::initializer_list<std::string_view> names) {
  Cluster cluster;
  cluster.file = "cluster.yaml";
  cluster.bmc.user = "admin";
  for (const std::string_view name : names) cluster.nodes.emplace_back().name = name;
  return cluster;
}

TEST(BmcLogins, OnePasswordForAll) {
  const auto logins = BmcLogins::parse("# ours\n\ns3cret\n", "pw", cluster_of({"a", "b"}));
  ASSERT_TRUE(logins) << logins.error().text;
  EXPECT_EQ(logins->find("a")->user, "admin");
  EXPECT_EQ(logins->find("b")->password, "s3cret");
  EXPECT_EQ(logins->find("c"), nullptr);
}

TEST(BmcLogins, ALineForEachRangeAndTheLastCounts) {
  const auto logins = BmcLogins::parse("a[1-3] root  has blanks inside\na2 ADMIN other\n", "pw",
                                       cluster_of({"a1", "a2", "a3", "b"}));
  ASSERT_TRUE(logins) << logins.error().text;
  EXPECT_EQ(logins->find("a1")->password, "has blanks inside");
  EXPECT_EQ(logins->find("a2")->user, "ADMIN");
  EXPECT_EQ(logins->find("b"), nullptr);
}

TEST(BmcLogins, AComplaintNamesTheLineAndNoSecret) {
  for (const std::string_view text : {"a admin\nb hunter2\n", "a admin hunter2hunter2hunter2\nb x y\n",
                                      "nobody admin hunter2\nb x y\n", "a[1- admin hunter2\nb x y\n"}) {
    const auto logins = BmcLogins::parse(text, "pw", cluster_of({"a", "b"}));
    ASSERT_FALSE(logins) << text;
    EXPECT_TRUE(logins.error().text.starts_with("pw:1: ")) << logins.error().text;
    EXPECT_EQ(logins.error().text.find("hunter2"), std::string::npos);
  }
  EXPECT_FALSE(BmcLogins::parse("# nothing\n", "pw", cluster_of({"a"})));
}

TEST(BmcLogins, APasswordWithoutAUserIsNoLogin) {
  Cluster cluster = cluster_of({"a"});
  cluster.bmc.user.clear();
  EXPECT_FALSE(BmcLogins::parse("s3cret\n", "pw", cluster));
}

}  // namespace
}  // namespace railbed

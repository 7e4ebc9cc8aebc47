#include "fabric/managers.h"

#include <gtest/gtest.h>

#include "fabric/testing/tree.h"

namespace railbed {
namespace {

ManagerLook looked(std::uint32_t later) {
  const IbFabric before = told::live_tree();
  IbFabric after = before;
  after.managers[0].activity = later;
  ManagerLook look = look_at_managers(before, after, 10);
  look.routing = {Miss{Missing::kAbsent, "not here"}, "/etc/opensm/opensm.conf"};
  return look;
}

TEST(Managers, OneThatMovesIsClean) {
  EXPECT_EQ(looked(3).exit_code(), kExitClean);
  EXPECT_EQ(looked(0).exit_code(), kExitWarnings);
}

TEST(Managers, RoutingThatDoesNotFitWarns) {
  ManagerLook look = looked(3);
  look.routing = {"ftree,minhop", "/etc/opensm/opensm.conf"};
  EXPECT_TRUE(look.routes_as_advised());
  look.routing = {"minhop", "/etc/opensm/opensm.conf"};
  EXPECT_FALSE(look.routes_as_advised());
  EXPECT_EQ(look.exit_code(), kExitWarnings);
}

TEST(Managers, NoneOrTwoFail) {
  ManagerLook look = looked(3);
  look.managers.push_back(look.managers.front());
  EXPECT_EQ(look.exit_code(), kExitFailures);
  look.managers.clear();
  EXPECT_EQ(look.exit_code(), kExitFailures);
}

}  // namespace
}  // namespace railbed

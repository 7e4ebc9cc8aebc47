#include "settings/unit_instance.h"

#include "settings/testing/sample.h"

namespace railbed {
namespace {

TEST(UnitInstance, EscapesAsSystemdDoes) {
  EXPECT_EQ(escaped_for_unit("ens6"), "ens6");
  EXPECT_EQ(escaped_for_unit("ens6.100"), "ens6.100");
  EXPECT_EQ(escaped_for_unit("enp1-0"), "enp1\\x2d0");
  EXPECT_EQ(escaped_for_unit(".a/b@"), "\\x2ea-b\\x40");
  EXPECT_EQ(instance_of("railbed-qos", "ens6"), "railbed-qos@ens6.service");
}

TEST(UnitInstance, TakesPlainNamesOnly) {
  EXPECT_TRUE(is_plain_interface("enP2p1s0f0np0"));
  for (const char* name : {"", "-a", "a b", "a;b", "a%I", "$(a)", "a'b"})
    EXPECT_FALSE(is_plain_interface(name));
}

}  // namespace
}  // namespace railbed

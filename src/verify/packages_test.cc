#include "verify/packages.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

std::vector<std::string> commands_on(const char* id) {
  Facts facts;
  if (*id != '\0') facts.system.os.id = {std::string(id), "/etc/os-release"};
  NodeView node;
  node.facts = &facts;
  return for_system(node, {"update-initramfs -u"}, {"dracut --force"});
}

TEST(Packages, RemediesRunOnTheNodesOwnSystem) {
  for (const char* id : {"debian", "ubuntu"})
    EXPECT_EQ(commands_on(id), std::vector<std::string>{"update-initramfs -u"}) << id;
  for (const char* id : {"rhel", "rocky", "almalinux", "fedora"})
    EXPECT_EQ(commands_on(id), std::vector<std::string>{"dracut --force"}) << id;
  // Where nobody knows which one it is, both are named.
  for (const char* id : {"", "alpine"})
    EXPECT_EQ(commands_on(id), (std::vector<std::string>{"update-initramfs -u", "dracut --force"})) << id;
}

}  // namespace
}  // namespace railbed

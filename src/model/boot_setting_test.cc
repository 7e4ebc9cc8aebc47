#include "model/boot_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WantedSetting kBuffer{"net.core.rmem_max", 16 << 20, true};
constexpr WantedSetting kStill{"kernel.numa_balancing", 0, false};

struct NodeNow {
  Facts facts;
  NodeView node;
  NodeNow() {
    node.facts = &facts;
    facts.system.sysctl["net.core.rmem_max"] = {"16777216", "/proc/sys"};
    facts.system.sysctl["kernel.numa_balancing"] = {"0", "/proc/sys"};
    facts.system.services = {std::vector<Service>(), "systemctl show"};
  }
  BootOutlook after(const WantedSetting& wanted, const std::vector<BootSetting>& files = {}) const {
    return after_reboot(node, {wanted}, files);
  }
};

TEST(BootSetting, AFileThatFitsKeepsIt) {
  const NodeNow now;
  EXPECT_THAT(now.after(kBuffer, {{"net.core.rmem_max", "33554432", "/etc/sysctl.d/9.conf"}}).kept,
              ElementsAre("net.core.rmem_max"));
  EXPECT_THAT(now.after({"net.core.rmem_max", 212'992, true}).kept, ElementsAre("net.core.rmem_max"));
  EXPECT_TRUE(now.after({"net.core.rmem_max", 32 << 20, true}).nothing_fits());
}

TEST(BootSetting, NamesTheFileThatDecides) {
  const NodeNow now;
  const auto with = [&](const std::string& file) {
    return now.after(kBuffer, {{"net.core.rmem_max", "212992", file}});
  };
  EXPECT_EQ(why_lost(with("/etc/sysctl.d/99-sysctl.conf")),
            "/etc/sysctl.d/99-sysctl.conf sets net.core.rmem_max to 212992");
}

TEST(BootSetting, NobodyGuessesWhatAUnitOrAKernelDoes) {
  NodeNow now;
  EXPECT_EQ(why_lost(now.after(kBuffer)), "no file of sysctl.d sets net.core.rmem_max");
  EXPECT_THAT(now.after({"net.core.rmem_max", 1 << 20, true}).doubts, ElementsAre(HasSubstr("starts with")));
  now.facts.system.services = {
      std::vector<Service>{
          {.name = "tuned", .load_state = "loaded", .active_state = "active", .unit_file_state = "enabled"}},
      "systemctl show"};
  EXPECT_THAT(now.after(kBuffer).lost, IsEmpty());
  EXPECT_THAT(now.after(kBuffer).doubts, ElementsAre(HasSubstr("tuned.service may")));
}

TEST(BootSetting, BalancingStartsAsTheKernelWasBuiltAndAsked) {
  NodeNow now;
  Kernel& kernel = now.facts.system.kernel;
  EXPECT_THAT(now.after(kStill).doubts, ElementsAre(HasSubstr("starts with")));
  kernel.config = {{{"CONFIG_NUMA_BALANCING_DEFAULT_ENABLED", "y"}}, "/boot/config"};
  EXPECT_EQ(now.after(kStill).lost.size(), 1U);
  kernel.command_line = {"ro numa_balancing=disable", "/proc/cmdline"};
  EXPECT_THAT(now.after(kStill).kept, ElementsAre("kernel.numa_balancing"));
}

}  // namespace
}  // namespace railbed

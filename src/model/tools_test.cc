#include "model/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct OneNode {
  Facts facts;
  NodeView node;
  explicit OneNode(const char* id, const char* version = "") {
    node.facts = &facts;
    if (*id != '\0') facts.system.os.id = {std::string(id), "/etc/os-release"};
    if (*version != '\0') facts.system.os.version = {std::string(version), "/etc/os-release"};
    facts.system.services = {std::vector<Service>(), "systemctl show"};
  }
  OneNode& driver(const char* version) {
    facts.rdma.driver_version = {std::string(version), "/sys/module/mlx5_core/version"};
    return *this;
  }
  OneNode& running(const char* unit) {
    facts.system.services = {
        std::vector<Service>{
            {.name = unit, .load_state = "loaded", .active_state = "active", .unit_file_state = "enabled"}},
        "systemctl show"};
    return *this;
  }
};

std::vector<ShellCommand> images_on(const char* id) {
  return for_system(OneNode(id).node, {"update-initramfs -u"}, {"dracut --force"});
}

TEST(Tools, RemediesRunOnTheNodesOwnSystem) {
  for (const char* id : {"debian", "ubuntu"}) EXPECT_THAT(images_on(id), ElementsAre("update-initramfs -u"));
  for (const char* id : {"rhel", "rocky", "almalinux", "fedora"})
    EXPECT_THAT(images_on(id), ElementsAre("dracut --force")) << id;
  // If the system is unknown, both are named.
  for (const char* id : {"", "alpine"})
    EXPECT_THAT(images_on(id), ElementsAre("update-initramfs -u", "dracut --force")) << id;
}

TEST(Tools, PrioritiesAreSetByWhatIsThere) {
  OneNode inbox("ubuntu", "24.04");
  EXPECT_THAT(trust_dscp_with(inbox.node, "ens1", 26, 3),
              ElementsAre("dcb app replace dev ens1 dscp-prio 26:3"));
  EXPECT_THAT(make_lossless_with(inbox.node, "ens1", 3),
              ElementsAre("dcb pfc set dev ens1 prio-pfc all:off 3:on"));
  inbox.driver("24.10-1.1.4");
  EXPECT_THAT(trust_dscp_with(inbox.node, "ens1", 26, 3), ElementsAre("mlnx_qos -i ens1 --trust dscp"));
  EXPECT_THAT(make_lossless_with(inbox.node, "ens1", 3),
              ElementsAre("mlnx_qos -i ens1 --pfc 0,0,0,1,0,0,0,0"));
  // Ubuntu 20.04's kernel driver has a version, too, and its iproute2 has no dcb yet.
  OneNode old("ubuntu", "20.04");
  old.driver("5.0-0");
  EXPECT_FALSE(has_vendor_driver(old.node));
  EXPECT_THAT(make_lossless_with(old.node, "ens1", 3), IsEmpty());
  EXPECT_TRUE(has_dcb(OneNode("debian", "12").node));
  EXPECT_FALSE(has_dcb(OneNode("debian", "11").node));
  EXPECT_TRUE(has_dcb(OneNode("rocky", "9.6").node));
  EXPECT_FALSE(has_dcb(OneNode("rhel", "8.4").node));
}

TEST(Tools, ClocksAreKeptByWhatIsInstalled) {
  OneNode node("ubuntu", "24.04");
  EXPECT_THAT(keep_time_with(node.node),
              ElementsAre("apt-get install chrony", "systemctl enable --now chrony"));
  EXPECT_THAT(keep_time_with(node.running("chronyd").node),
              ElementsAre("systemctl enable --now chronyd", "timedatectl"));
}

TEST(Tools, KernelParametersAreSetByTheNodesOwnTool) {
  EXPECT_THAT(set_at_boot_with(OneNode("rhel").node, "iommu=pt"),
              ElementsAre("grubby --update-kernel=ALL --args='iommu=pt'"));
  EXPECT_EQ(set_at_boot_with(OneNode("debian").node, "iommu=pt").back(), "update-grub");
}

TEST(Tools, ProgramsOfACommandLine) {
  EXPECT_THAT(programs_of("ip link set a up"), ElementsAre("ip"));
  EXPECT_THAT(programs_of("sudo LANG=C dmesg | grep -e 'a | b' 2>&1 && echo \"x; y\"; ls  # then | that"),
              ElementsAre("dmesg", "grep", "echo", "ls"));
  EXPECT_THAT(programs_of("chcpu -e $(cat /sys/devices/system/cpu/offline)"), ElementsAre("chcpu", "cat"));
  EXPECT_THAT(programs_of("printf 'it'\\''s; rm\\n' > /etc/x; ls"), ElementsAre("printf", "ls"));
  EXPECT_THAT(programs_of(""), IsEmpty());
  EXPECT_THAT(programs_of("'"), IsEmpty());
}

TEST(Tools, RemediesFitNodesWithoutSystemdAndNamePackages) {
  OneNode node("debian", "12");
  node.facts.system.services = {Miss{Missing::kAbsent, "not booted with systemd"}, "/run/systemd/system"};
  Remedy remedy{"Look.",
                {"journalctl -k -b | grep NVRM", "systemctl restart opensm", "ibstat mlx5_0",
                 "iblinkinfo | grep Down  # on gpu01", "reboot"}};
  fit_to_node(&node.node, remedy);
  EXPECT_THAT(remedy.commands,
              ElementsAre("dmesg | grep NVRM", "ibstat mlx5_0  # of package infiniband-diags",
                          "iblinkinfo | grep Down  # on gpu01, of package infiniband-diags", "reboot"));
}

TEST(Tools, RemediesSayWhatACommandAsksFor) {
  OneNode node("debian", "12");
  Remedy reset{"Reset it.", {"nvidia-smi -i 0 --gpu-reset"}};
  fit_to_node(&node.node, reset);
  EXPECT_EQ(reset.text, "Reset it. Nothing may run on it; behind NVSwitch reset all GPUs together.");
  Remedy write{"Write it.", {"setpci -s 0000:01:00.0 CAP_EXP+8.w=5000:7000"}};
  fit_to_node(&node.node, write);
  EXPECT_EQ(write.text, "Write it.");
  node.facts.system.kernel.signatures_required = {true, "/sys/kernel/security/lockdown"};
  fit_to_node(&node.node, write);
  EXPECT_EQ(write.text, "Write it. Under Secure Boot the kernel refuses setpci: then set it in the BIOS.");
}

}  // namespace
}  // namespace railbed

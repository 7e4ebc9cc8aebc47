// Which files of a folder are of which node, and what is not read.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.h"
#include "base/text.h"
#include "host/open.h"
#include "host/support/support.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBridgeLine = "00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 20)\n";
constexpr const char* kGpuLine = "17:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n";
constexpr const char* kPortText = "CA 'mlx5_0'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n";

class ReportsTest : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  // Returns the names of the nodes, or the error.
  std::vector<std::string> nodes() {
    unread_.clear();
    opened_ = open_nodes(root_.string(), &unread_);
    if (!opened_) return {opened_.error().text};
    std::vector<std::string> names;
    for (const NamedHost& node : *opened_) names.push_back(node.node);
    return names;
  }
  std::string why(const std::string& path) const {
    for (const Unread& file : unread_)
      if (file.path == (root_ / path).string()) return file.why;
    return "";
  }
  using Names = std::vector<std::string>;

  TemporaryFolder temporary_;
  fs::path root_ = fs::path(temporary_.path()) / "reports";
  std::vector<Unread> unread_;
  Result<std::vector<NamedHost>> opened_;
};

TEST_F(ReportsTest, OutputsOfAnyNameAreNoMachine) {
  put("first", kPortText);
  put("second", std::string(kBridgeLine) + kGpuLine);
  ASSERT_EQ(nodes(), (Names{"reports"}));
  Host& host = *opened_->front().host;
  EXPECT_TRUE(host.read("/sys/class/infiniband/mlx5_0/ports/1/state").ok());
  EXPECT_TRUE(host.read("/proc/meminfo").unknown()) << "no output holds it, so it is not absent";
  EXPECT_TRUE(holds_reports(root_.string()));
}

TEST_F(ReportsTest, SessionsOfSeveralMachinesAreNodes) {
  put("a.txt", "root@gpu01:~# lspci\n" + std::string(kBridgeLine) + kGpuLine);
  put("b.txt", "root@gpu02:~# lspci\n" + std::string(kBridgeLine));
  put("c.txt", "[root@gpu01 ~]# ibstat\n" + std::string(kPortText));
  ASSERT_EQ(nodes(), (Names{"gpu01", "gpu02"}));
  EXPECT_TRUE((*opened_)[0].host->read("/sys/class/infiniband/mlx5_0/ports/1/state").ok());
  EXPECT_TRUE((*opened_)[0].host->read("/sys/bus/pci/devices/0000:17:00.0/class").ok());
  EXPECT_TRUE((*opened_)[1].host->read("/sys/class/infiniband/mlx5_0/ports/1/state").unknown());
  EXPECT_TRUE((*opened_)[1].host->read("/sys/bus/pci/devices/0000:17:00.0/class").absent());
  EXPECT_FALSE(open_root(root_.string()));
}

TEST_F(ReportsTest, APipeIsNoReport) {
  fs::create_directories(root_);
  const std::string pipe = (root_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(holds_reports(pipe));
  EXPECT_FALSE(open_nodes(pipe));
  put("lspci.txt", kBridgeLine);
  EXPECT_EQ(nodes(), (Names{"reports"}));
}

TEST_F(ReportsTest, ADomainMakesNoOtherMachine) {
  put("a.txt", "root@gpu01:~# lspci\n" + std::string(kBridgeLine));
  put("hostname.txt", "gpu01.lab.example\n");
  put("ibstat.txt", kPortText);
  ASSERT_EQ(nodes().size(), 1U);
  EXPECT_TRUE(opened_->front().host->read("/sys/class/infiniband/mlx5_0/ports/1/state").ok());
}

TEST_F(ReportsTest, LocalhostNamesNoMachine) {
  put("first.txt", "root@localhost:~# lspci\n" + std::string(kBridgeLine) + kGpuLine);
  put("second.txt", "root@localhost:~# lspci\n" + std::string(kBridgeLine));
  EXPECT_EQ(nodes(), (Names{"first", "second"}));
}

TEST_F(ReportsTest, OutputsThatContradictAreOfSeveralMachines) {
  put("gpu01-lspci.txt", std::string(kBridgeLine) + kGpuLine);
  put("gpu01-ibstat.txt", kPortText);
  put("gpu02-lspci.txt", kBridgeLine);
  EXPECT_EQ(nodes(), (Names{"gpu01", "gpu02"}));
  put("other.txt", std::string(kBridgeLine) + "01:00.0 PCI bridge: Intel Corporation Device\n");
  EXPECT_EQ(nodes(), (Names{"gpu01", "gpu02", "other"}));
}

TEST_F(ReportsTest, FoldersAreMachinesUnlessTheTopNamesOne) {
  put("gpu01/lspci.txt", std::string(kBridgeLine) + kGpuLine);
  put("gpu02/ibstat.txt", kPortText);
  EXPECT_EQ(nodes(), (Names{"gpu01", "gpu02"}));
  put("hostname.txt", "gpu07\n");
  EXPECT_EQ(nodes(), (Names{"gpu07"}));
}

TEST_F(ReportsTest, AFolderLikeARootIsAMachineOfItsOwn) {
  put("gpu01/etc/hostname", "gpu01\n");
  put("gpu02/lspci.txt", kBridgeLine);
  ASSERT_EQ(nodes(), (Names{"gpu02", "gpu01"}));
  EXPECT_TRUE((*opened_)[1].host->read("/proc/meminfo").absent());
  EXPECT_TRUE((*opened_)[0].host->read("/proc/meminfo").unknown());
}

TEST_F(ReportsTest, WhatIsNotReadIsNamedWithTheReason) {
  put("lspci.txt", kBridgeLine);
  put("notes.md", "Dear support,\nit does not work.\n");
  put("photo.jpg", std::string("\xff\xd8\0\0", 4));
  put("empty.txt", "\n");
  put("two.txt", "root@gpu01:~# uname\nLinux\n[root@gpu02 ~]# uname\nLinux\n");
  put("cut.tar.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03junk", 14));
  fs::create_symlink("/etc/hostname", root_ / "link.txt");
  ASSERT_EQ(nodes(), (Names{"reports"}));
  EXPECT_EQ(why("lspci.txt"), "");
  EXPECT_EQ(why("notes.md"), "not recognised as the output of a command that railbed reads");
  EXPECT_EQ(why("photo.jpg"), "not text");
  EXPECT_EQ(why("empty.txt"), "empty");
  EXPECT_NE(why("two.txt").find("a session on gpu01 and on gpu02"), std::string::npos);
  EXPECT_NE(why("cut.tar.gz").find("cannot be unpacked"), std::string::npos);
  EXPECT_NE(why("link.txt"), "");
  EXPECT_EQ(lines_of(unread_).size(), unread_.size());
}

TEST_F(ReportsTest, LargeFilesThatAreNoTextTakeNoRoom) {
  put("lspci.txt", kBridgeLine);
  for (int i = 0; i < 12; ++i) put("photo" + std::to_string(i), std::string(std::size_t{6} << 20, '\0'));
  put("huge.log", std::string((std::size_t{8} << 20) + 1, 'x'));
  ASSERT_EQ(nodes(), (Names{"reports"})) << "together more than a support report may hold";
  EXPECT_EQ(why("photo0"), "not text");
  EXPECT_EQ(why("huge.log"), "larger than 8 MiB");
}

TEST_F(ReportsTest, TheSecondOfTwoOutputsOfOneNodeIsNamed) {
  put("a.txt", "root@gpu01:~# ibstat\n" + std::string(kPortText));
  put("b.txt", "root@gpu01:~# ibstat\nCA 'mlx5_0'\n\tPort 1:\n\t\tState: Down\n");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  EXPECT_NE(why("b.txt").find("`ibstat`: that of"), std::string::npos) << why("b.txt");
}

TEST_F(ReportsTest, AFolderWithNothingToReadIsAnErrorThatStatesWhatIsTaken) {
  fs::create_directories(root_);
  EXPECT_NE(nodes().front().find("there is no file in it"), std::string::npos);
  put("photo.jpg", std::string("\xff\xd8\0\0", 4));
  const std::string text = nodes().front();
  EXPECT_EQ(opened_.error().kind, ErrorKind::kBadInput);
  EXPECT_NE(text.find("photo.jpg: not text"), std::string::npos) << text;
  EXPECT_NE(text.find("lspci"), std::string::npos) << text;
  EXPECT_NE(text.find("etc, proc or sys"), std::string::npos) << text;
}

TEST_F(ReportsTest, AReportAndOutputsOfItsNodeAreOneNode) {
  put("sos/sosreport-gpu01-x/sos_commands/host/hostname", "gpu01\n");
  put("sos/sosreport-gpu01-x/sos_commands/kernel/dmesg", "[    0.000000] Linux version 6.8.0\n");
  put("later.txt", "root@gpu01:~# ibstat\n" + std::string(kPortText) +
                       "root@gpu01:~# dmesg\n[    0.000000] Linux version 6.9\n");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  EXPECT_TRUE(opened_->front().host->read("/sys/class/infiniband/mlx5_0/ports/1/state").ok());
  EXPECT_NE(why("later.txt").find("may be of another boot"), std::string::npos) << why("later.txt");
}

// proc of a sosreport has a folder sys, like a machine's copy.
TEST_F(ReportsTest, AnUnpackedSosreportIsOneMachine) {
  put("sosreport-gpu01-x/sos_commands/general/hostname", "gpu01\n");
  put("sosreport-gpu01-x/proc/sys/kernel/random/boot_id", "x\n");
  put("sosreport-gpu01-x/sys/class/net/eno1/flags", "0x1003\n");
  put("sosreport-gpu01-x/etc/hosts", "127.0.0.1 localhost\n");
  for (const fs::path& root : {root_, root_ / "sosreport-gpu01-x"}) {
    const auto opened = open_nodes(root.string());
    ASSERT_TRUE(opened) << opened.error().text;
    ASSERT_EQ(opened->size(), 1U) << opened->back().node;
    EXPECT_EQ(opened->front().node, "gpu01");
  }
  put("gpu02/proc/meminfo", "MemTotal: 1 kB\n");
  EXPECT_EQ(nodes(), (Names{"gpu01", "gpu02"})) << "a machine beside it is one";
}

// Names and folders as sos gives them (tests/SOURCES.md): sos before 3.6, sos 4, and NVIDIA's sos of DOCA.
TEST_F(ReportsTest, OutputsOfSosAreReadWhereItsVersionsPutThem) {
  const std::string top = "sosreport-gpu01-x/";
  const std::string link =
      "Operational Info\n----------------\nState : Active\nPhysical state : LinkUp\nSpeed : IB-NDR\nWidth : 4x\n";
  put(top + "sos_commands/host/hostname", "gpu01\n");
  put(top + "sos_commands/infiniband/ibstat",
      "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n");
  put(top + "sos_commands/networking/ip_-d_address",
      "1: lo: <LOOPBACK,UP> mtu 65536\n    link/loopback 00:00:00:00:00:00\n"
      "2: ib_0: <BROADCAST,UP> mtu 2044 state UP\n    link/infiniband 00:00:10:29\n");
  put(top + "sos_commands/networking/ethtool_-i_ib_0", "driver: mlx5_core\nbus-info: 0000:18:00.0\n");
  put(top + "sos_commands/ipmitool/ipmitool_sensor_list",
      "FAN1 | 5800.000 | RPM | ok | na | 500.000 | na | na | na | na\n");
  put(top + "sos_commands/ipmitool/ipmitool_chassis_status",
      "System Power         : on\nPower Restore Policy : always-on\n");
  put(top + "sos_commands/mellanox_firmware/mlxlink_-d_0000_18_00.0", link);
  put(top + "sos_commands/mellanox_firmware/mlxlink_000018000_--show_module", link);
  put(top + "sos_commands/rdma/rdma_link_show_-d",
      "link mlx5_0/1 lid 12 sm_lid 1 state ACTIVE physical_state LINK_UP\n");
  put(top + "sos_commands/logs/journalctl_--no-pager_--boot",
      "Jan 19 10:55:00 gpu01 kernel: Linux version 5.14.0\nJan 19 10:56:00 gpu01 systemd[1]: Started x.\n"
      "Jan 19 11:00:00 gpu01 kernel: NVRM: Xid (PCI:0000:17:00): 31, pid=77\n");
  put(top + "sos_commands/logs/journalctl_--no-pager_--boot_-1",
      "Jan 18 10:55:00 gpu01 kernel: Linux version 5.14.0\n");
  // What sos copies of the device is a link into /sys/devices.
  put(top + "sys/devices/pci0000:17/0000:18:00.0/infiniband/mlx5_0/ports/1/gids/0", "fe80::1\n");
  fs::create_directories(root_ / top / "sys/class/infiniband");
  fs::create_symlink("../../devices/pci0000:17/0000:18:00.0/infiniband/mlx5_0",
                     root_ / top / "sys/class/infiniband/mlx5_0");
  fs::create_symlink("../../../0000:18:00.0",
                     root_ / top / "sys/devices/pci0000:17/0000:18:00.0/infiniband/mlx5_0/device");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  Host& host = *opened_->front().host;
  EXPECT_TRUE(host.run({"ipmitool", "sensor"}).ok());
  EXPECT_TRUE(host.run({"ipmitool", "chassis", "status"}).ok());
  EXPECT_TRUE(host.list("/sys/class/infiniband/mlx5_0/ports").ok());
  EXPECT_EQ(trim(*host.read("/sys/class/infiniband/mlx5_0/ports/1/phys_state")), "5: LinkUp");
  EXPECT_EQ(host.resolve("/sys/class/net/ib_0/device").value_or(""), "/sys/bus/pci/devices/0000:18:00.0");
  const auto log = host.call("kernel-log");
  ASSERT_TRUE(log.ok());
  EXPECT_NE(log->find("Xid"), std::string::npos);
  EXPECT_EQ(log->find("Jan 18"), std::string::npos);
  EXPECT_TRUE(unread_.empty()) << unread_.front().path << ": " << unread_.front().why;
}

TEST_F(ReportsTest, ASessionShowsFilesAndTheModule) {
  put("a.txt",
      "root@gpu01:~# cat /proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05\n"
      "root@gpu01:~# cat /proc/cmdline | tr ' ' x\nnothing\n"
      "root@gpu01:~# cat /proc/modules\ncat: /proc/modules: No such file or directory\n"
      "root@gpu01:~# cat /root/notes\nprivate\n"
      "root@gpu01:~# modinfo -F license nvidia\nNVIDIA\n"
      "root@gpu01:~# modinfo -F version nvidia\n580.95.05\n");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  Host& host = *opened_->front().host;
  EXPECT_TRUE(host.read("/proc/driver/nvidia/version")->starts_with("NVRM version: "));
  EXPECT_TRUE(host.read("/proc/cmdline").unknown()) << "a filter changed it";
  EXPECT_TRUE(host.read("/proc/modules").absent());
  EXPECT_FALSE(host.read("/root/notes").ok());
  EXPECT_EQ(trim(host.run({"modinfo", "-F", "license", "nvidia"})->output), "NVIDIA");
  EXPECT_TRUE(host.run({"modinfo", "nvidia"}).unknown()) << "one field is not the whole";
}

// sos keeps the output of modinfo for all loaded modules in one file.
TEST_F(ReportsTest, TheGpuDriversModuleIsFoundAmongAll) {
  const std::string top = "sosreport-gpu01-x/";
  put(top + "sos_commands/host/hostname", "gpu01\n");
  put(top + "sos_commands/kernel/modinfo_ALL_MODULES",
      "filename:       /lib/modules/6.8.0/extra/nvidia-uvm.ko.xz\nlicense:        Dual MIT/GPL\n\n"
      "filename:       /lib/modules/6.8.0/extra/nvidia.ko.xz\nversion:        570.124.06\nlicense:        NVIDIA\n\n"
      "filename:       /lib/modules/6.8.0/kernel/ipv6.ko.xz\nlicense:        GPL\n");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  const auto seen = opened_->front().host->run({"modinfo", "nvidia"});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->output,
            "filename:       /lib/modules/6.8.0/extra/nvidia.ko.xz\nversion:        570.124.06\n"
            "license:        NVIDIA\n\n");
}

// Modules that are loaded have a file initstate; without any the copies do not show which are loaded.
TEST_F(ReportsTest, ModulesAreWholeOnlyWhereSosCopiedTheirStates) {
  put("sosreport-gpu01-x/sos_commands/host/hostname", "gpu01\n");
  put("sosreport-gpu01-x/sys/module/nvidia/version", "550.54.15\n");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  EXPECT_TRUE(opened_->front().host->list("/sys/module/mlx5_core").unknown());
  put("sosreport-gpu01-x/sys/module/nvidia/initstate", "live\n");
  ASSERT_EQ(nodes(), (Names{"gpu01"}));
  EXPECT_TRUE(opened_->front().host->list("/sys/module/mlx5_core").absent());
}

TEST(ReportsInAnArchive, MachinesAreNodesByTheirFolders) {
  Sent sent;
  sent.files["outputs/gpu01/lspci.txt"] = {std::string(kBridgeLine) + kGpuLine, 0};
  sent.files["outputs/gpu02/lspci.txt"] = {kBridgeLine, 0};
  const auto reports = reports_of(std::move(sent), "outputs.tar");
  ASSERT_TRUE(reports) << reports.error().text;
  ASSERT_EQ(reports->nodes.size(), 2U);
  EXPECT_EQ(reports->nodes[0].node, "gpu01");
  EXPECT_EQ(reports->nodes[1].node, "gpu02");
}

// hwloc-gather-topology copies a part of /proc and /sys: no adapter in it is no adapter on the machine.
TEST_F(ReportsTest, TheGatherOfHwlocIsAPart) {
  put("spark/proc/hwloc-nofile-info",
      "OSName: Linux\nOSRelease: 6.17.0-1014-nvidia\nOSVersion: #14-Ubuntu SMP\nHostName: farm107\nArchitecture: aarch64\n");
  put("spark/proc/meminfo", "MemTotal:       125511424 kB\n");
  put("spark/sys/devices/system/node/node0/cpulist", "0-19\n");
  put("spark/sys/class/dmi/id/board_name", "Board\n");
  for (const fs::path& root : {root_, root_ / "spark"}) {
    const auto opened = open_nodes(root.string());
    ASSERT_TRUE(opened) << opened.error().text;
    ASSERT_EQ(opened->size(), 1U);
    EXPECT_EQ(opened->front().node, "farm107");
    Host& host = *opened->front().host;
    EXPECT_TRUE(host.read("/proc/meminfo").ok());
    EXPECT_EQ(host.read_line("/proc/sys/kernel/osrelease").value_or(""), "6.17.0-1014-nvidia");
    EXPECT_EQ(host.list("/sys/devices/system/node").value_or({}), Names{"node0"});
    for (const char* folder : {"/sys/class/infiniband", "/sys/bus/pci/devices", "/sys/class/net"})
      EXPECT_TRUE(host.list(folder).unknown()) << folder;
  }
  EXPECT_TRUE(holds_reports((root_ / "spark").string()));
}

TEST_F(ReportsTest, AnEmptyFileIsCalledEmpty) {
  put("none.txt", "");
  const auto opened = open_nodes((root_ / "none.txt").string());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("is empty"), std::string::npos) << opened.error().text;
}

// systemd 219 of CentOS 7
TEST_F(ReportsTest, AnOldTimedatectlStatesTheClock) {
  put("timedatectl",
      "      Local time: Tue 2019-07-16 10:11:12 PDT\n  Universal time: Tue 2019-07-16 17:11:12 UTC\n"
      "        RTC time: Tue 2019-07-16 17:11:12\n       Time zone: America/Los_Angeles (PDT, -0700)\n"
      "     NTP enabled: yes\nNTP synchronized: no\n RTC in local TZ: no\n");
  put("uname_-a", "Linux n1 3.10.0-957.el7.x86_64 #1 SMP x86_64 x86_64 x86_64 GNU/Linux\n");
  ASSERT_EQ(nodes(), (Names{"n1"}));
  const auto clock = opened_->front().host->call("clock");
  ASSERT_TRUE(clock.ok());
  EXPECT_NE(clock->find("false"), std::string::npos) << *clock;
}

TEST_F(ReportsTest, WhatStatesItselfNeedsNoName) {
  put("a", "Linux gpu07 6.8.0-40-generic #40-Ubuntu SMP x86_64 x86_64 x86_64 GNU/Linux\n");
  put("b",
      "               Local time: Tue 2026-03-10 17:53:21 CET\n           Universal time: Tue 2026-03-10 16:53:21 UTC\n"
      "                Time zone: Europe/Berlin (CET, +0100)\nSystem clock synchronized: yes\n");
  put("c",
      "fs.file-max = 9223372036854775807\nkernel.hostname = gpu07\nkernel.osrelease = 6.8.0-40-generic\n"
      "net.core.rmem_max = 212992\n");
  ASSERT_EQ(nodes(), (Names{"gpu07"}));
  Host& host = *opened_->front().host;
  EXPECT_EQ(host.read_line("/proc/sys/kernel/osrelease").value_or(""), "6.8.0-40-generic");
  EXPECT_EQ(host.read_line("/proc/sys/net/core/rmem_max").value_or(""), "212992");
  EXPECT_TRUE(unread_.empty());
}

}  // namespace
}  // namespace railbed

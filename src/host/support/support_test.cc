#include "host/support/support.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "host/host.h"
#include "host/support/intake.h"
#include "host/support/texts.h"
#include "nvidia/gpu_answers.h"

namespace railbed {
namespace {

constexpr const char* kListing =
    "14:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])\n"
    "\tBus: primary=14, secondary=15, subordinate=1a, sec-latency=0\n"
    "\tCapabilities: [60] Express (v2) Root Port (Slot+), MSI 00\n"
    "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n"
    "\t\t\tRlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop-\n"
    "\t\t\tMaxPayload 512 bytes, MaxReadReq 512 bytes\n"
    "\tCapabilities: [148 v1] Access Control Services\n"
    "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
    "\tKernel driver in use: pcieport\n"
    "\n"
    "15:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
    "\tSubsystem: NVIDIA Corporation Device [10de:16c1]\n"
    "\tNUMA node: 1\n"
    "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
    "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n"
    "\tCapabilities: [bcc v1] Single Root I/O Virtualization (SR-IOV)\n";

std::unique_ptr<Host> host_of(ReportTree report) {
  Gaps gaps = report.gaps();
  return open_tree(std::move(report).tree(), std::move(gaps));
}

std::string line_of(Host& host, const std::string& path) {
  const auto line = host.read_line(path);
  return line ? *line : describe(line.miss(), "");
}

TEST(SupportLspci, TellsIdentityLinkAndPlace) {
  ReportTree report;
  add_lspci(kListing, true, report);
  const auto host = host_of(std::move(report));
  const std::string gpu = "/sys/bus/pci/devices/0000:15:00.0";
  EXPECT_EQ(host->resolve(gpu).value_or(""), "/sys/devices/pci0000:14/0000:14:01.0/0000:15:00.0");
  EXPECT_EQ(line_of(*host, gpu + "/class"), "0x030200");
  EXPECT_EQ(line_of(*host, gpu + "/vendor"), "0x10de");
  EXPECT_EQ(line_of(*host, gpu + "/device"), "0x2330");
  EXPECT_EQ(line_of(*host, gpu + "/numa_node"), "1");
  EXPECT_EQ(line_of(*host, gpu + "/max_link_speed"), "32.0 GT/s PCIe");
  EXPECT_EQ(line_of(*host, gpu + "/current_link_speed"), "16.0 GT/s PCIe");
  EXPECT_EQ(line_of(*host, gpu + "/current_link_width"), "8");
  EXPECT_TRUE(host->resolve(gpu + "/physfn").absent());
  EXPECT_TRUE(host->resolve(gpu + "/driver").absent()) << "lspci -v names a driver where there is one";
  EXPECT_TRUE(host->read(gpu + "/resource").unknown());
  EXPECT_TRUE(host->read(gpu + "/config").unknown()) << "without Device Control no register is made up";
  EXPECT_TRUE(host->read("/sys/bus/pci/devices/0000:99:00.0/class").absent()) << "all functions are listed";
}

TEST(SupportLspci, PutsBackTheTwoRegistersItNames) {
  ReportTree report;
  add_lspci(kListing, true, report);
  const auto host = host_of(std::move(report));
  const auto config = host->read("/sys/bus/pci/devices/0000:14:01.0/config");
  ASSERT_TRUE(config);
  ASSERT_EQ(config->size(), 4096U);
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint8_t>((*config)[at]) | static_cast<std::uint8_t>((*config)[at + 1]) << 8;
  };
  EXPECT_EQ(word(0x48), 2 << 5 | 2 << 12);
  EXPECT_EQ(word(0x106), 0b101);
}

TEST(SupportLspci, WithoutBusNumbersNoPlaceIsTold) {
  ReportTree report;
  add_lspci("17:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n", true, report);
  const auto host = host_of(std::move(report));
  const std::string gpu = "/sys/bus/pci/devices/0000:17:00.0";
  EXPECT_EQ(host->resolve(gpu).value_or(""), gpu);
  EXPECT_EQ(line_of(*host, gpu + "/class"), "0x030200");
  EXPECT_EQ(line_of(*host, gpu + "/vendor"), "0x10de");
  EXPECT_TRUE(host->resolve(gpu + "/driver").unknown());
}

TEST(SupportNvidiaSmi, ReadsNumbersAndNeverWordsAsZero) {
  ReportTree report;
  add_nvidia_smi(
      "==============NVSMI LOG==============\n\nDriver Version                : 570.124.06\n"
      "CUDA Version                  : 12.8\n\nAttached GPUs                 : 1\nGPU 00000000:17:00.0\n"
      "    Product Name              : NVIDIA H100 80GB HBM3\n    GPU UUID                  : GPU-1\n"
      "    ECC Errors\n        Volatile\n            SRAM Correctable      : 0\n"
      "            SRAM Uncorrectable Parity : 1\n            SRAM Uncorrectable SEC-DED : 2\n"
      "            DRAM Correctable      : 177\n            DRAM Uncorrectable    : 4\n"
      "    Retired Pages\n        Single Bit ECC        : N/A\n        Double Bit ECC        : N/A\n"
      "    Remapped Rows\n        Pending               : Yes\n        Remapping Failure Occurred : Unknown Error\n"
      "    FB Memory Usage\n        Total                 : 81559 MiB\n"
      "    Clocks Event Reasons\n        Idle                  : Not Active\n        HW Slowdown           : Active\n"
      "            HW Thermal Slowdown : Active\n"
      "    GPU Power Readings\n        Current Power Limit   : 700.00 W\n"
      "    Processes\n        GPU instance ID : N/A\n        Process ID : 41\n        GPU instance ID : N/A\n"
      "        Process ID : 42\n",
      "GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n", report);
  const auto host = host_of(std::move(report));
  const auto gpu = json::read<NvmlGpu>(host->call("nvml 0000:17:00.0").value_or(""));
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->ecc_volatile_uncorrectable.value_or(0), 7U);
  EXPECT_EQ(gpu->ecc_volatile_corrected.value_or(0), 177U);
  EXPECT_EQ(gpu->retired_pages.miss().missing, Missing::kUnsupported);
  EXPECT_TRUE(gpu->remap_pending.value_or(false));
  EXPECT_EQ(gpu->remap_failed.miss().missing, Missing::kGarbled);
  EXPECT_EQ(gpu->memory.value_or(0), std::uint64_t{81559} << 20);
  EXPECT_EQ(gpu->event_reasons.value_or(0), 0x48U);
  EXPECT_EQ(gpu->power_limit.value_or(0), 700.0);
  EXPECT_TRUE(gpu->power.unknown()) << "what nvidia-smi does not say is not 0";
  EXPECT_TRUE(gpu->inforom_valid.unknown());
  ASSERT_TRUE(gpu->processes);
  EXPECT_EQ(gpu->processes->size(), 2U);
  ASSERT_TRUE(gpu->nvlinks);
  EXPECT_FALSE(gpu->nvlinks->at("01").active);
  const auto system = json::read<NvmlSystem>(host->call("nvml").value_or(""));
  ASSERT_TRUE(system);
  EXPECT_EQ(system->cuda_version.value_or(0), 12080);
}

constexpr const char* kAddresses =
    "2: ens1np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000\n"
    "    link/ether 94:6d:ae:00:01:00 brd ff:ff:ff:ff:ff:ff promiscuity 0 numtxqueues 8 parentbus pci parentdev 0000:15:00.0\n"
    "    altname enp21s0np0\n"
    "    inet 10.0.0.1/24 brd 10.0.0.255 scope global ens1np0\n"
    "3: v100@ens1np0: <BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state LOWERLAYERDOWN group default\n"
    "    link/ether 94:6d:ae:00:01:00 brd ff:ff:ff:ff:ff:ff promiscuity 0\n"
    "    vlan protocol 802.1Q id 100 <REORDER_HDR> numtxqueues 1\n"
    "4: ../x: <UP> mtu 1500\n";

TEST(SupportIp, TellsInterfacesAddressesAndVlans) {
  ReportTree report;
  add_lspci(kListing, true, report);
  add_ip_address(kAddresses, true, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(host->list("/sys/class/net").value_or({}), (std::vector<std::string>{"ens1np0", "v100"}));
  EXPECT_EQ(line_of(*host, "/sys/class/net/ens1np0/mtu"), "9000");
  EXPECT_EQ(line_of(*host, "/sys/class/net/ens1np0/operstate"), "up");
  EXPECT_EQ(line_of(*host, "/sys/class/net/v100/carrier"), "0");
  EXPECT_EQ(host->resolve("/sys/class/net/ens1np0/device").value_or(""),
            "/sys/devices/pci0000:14/0000:14:01.0/0000:15:00.0");
  EXPECT_TRUE(host->resolve("/sys/class/net/v100/device").absent());
  EXPECT_TRUE(host->read("/sys/class/net/ens1np0/carrier_changes").unknown());
  const auto addresses = host->run({"ip", "-j", "address", "show"});
  ASSERT_TRUE(addresses);
  EXPECT_NE(addresses->output.find(R"("local":"10.0.0.1","prefixlen":24)"), std::string::npos);
  EXPECT_NE(host->run({"ip", "-d", "-j", "link", "show", "type", "vlan"})->output.find(R"("id":100)"),
            std::string::npos);
  EXPECT_TRUE(host->run({"lldpcli", "-f", "json", "show"}).unknown());
}

TEST(SupportRdma, FindsItsFunctionByItsGid) {
  ReportTree report;
  add_lspci(kListing, true, report);
  add_ip_address(kAddresses, true, report);
  add_ibv_devinfo(
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.43.2026\n\tphys_port_cnt:\t\t\t1\n"
      "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tactive_mtu:\t\t1024 (3)\n\t\t\tlink_layer:\t\tEthernet\n"
      "\t\t\tphys_state:\t\tDISABLED (3)\n\t\t\tGID[  0]:\t\tfe80::966d:aeff:fe00:100, RoCE v1\n"
      "\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE v2\n",
      report);
  const auto host = host_of(std::move(report));
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  EXPECT_EQ(line_of(*host, port + "/state"), "1: DOWN");
  EXPECT_EQ(line_of(*host, port + "/phys_state"), "3: Disabled");
  EXPECT_EQ(line_of(*host, port + "/gid_attrs/types/0"), "IB/RoCE v1");
  // ens1np0 and its VLAN share a MAC address; only one of them has a device.
  EXPECT_EQ(line_of(*host, port + "/gid_attrs/ndevs/0"), "ens1np0");
  EXPECT_EQ(host->resolve("/sys/class/infiniband/mlx5_0/device").value_or(""),
            "/sys/devices/pci0000:14/0000:14:01.0/0000:15:00.0");
  EXPECT_TRUE(host->list(port + "/counters").unknown());
  EXPECT_TRUE(host->read(port + "/rate").unknown());
}

TEST(SupportKernel, StampsAreCountedFromTheBoot) {
  ReportTree report;
  add_dmesg(
      "[    0.000000] Linux version 6.8.0\n"
      "[   12.500000] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
      "user  :info  : [   13.000000] NVRM: Xid (PCI:0000:17:00): 48, said by a process\n"
      "[Mon Jan 19 10:00:00 2026] NVRM: Xid (PCI:0000:18:00): 79, GPU has fallen off the bus.\n",
      1000, 2000, report);
  const auto host = host_of(std::move(report));
  const std::string log = host->call("kernel-log").value_or("");
  EXPECT_NE(log.find(R"("first":1012.5)"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("beginning_lost":false)"), std::string::npos);
  EXPECT_EQ(log.find("0000:18:00"), std::string::npos) << "a date names no time zone";
  EXPECT_EQ(log.find("said by a process"), std::string::npos);
  EXPECT_EQ(uptime_in(" 12:00:01 up 10 days,  3:25,  2 users,  load").value_or(0),
            (10 * 24 * 60 + 205) * 60.0);
  EXPECT_EQ(uptime_in(" 12:00:01 up 4 min,  0 user,  load").value_or(0), 240.0);
  EXPECT_FALSE(uptime_in("up and away"));
  EXPECT_EQ(date_in("Mon Jan 19 12:00:00 UTC 2026").value_or(0), 1768824000.0);
  EXPECT_FALSE(date_in("Mon Jan 19 12:00:00 CET 2026"));
}

TEST(SupportOutputs, NamesOfFilesAreCommands) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of_name("lspci_-nnvv"), (Words{"lspci", "-nnvv"}));
  EXPECT_EQ(words_of_name("lspci-vvv.txt"), (Words{"lspci", "-vvv"}));
  EXPECT_EQ(words_of_name("ip_-d_a"), (Words{"ip", "-d", "a"}));
  EXPECT_EQ(words_of_name("ip-d-a.txt"), (Words{"ip", "-d", "-a"}));
  EXPECT_EQ(words_of_name("nvidia-smi-q.txt"), (Words{"nvidia-smi", "-q"}));
  EXPECT_EQ(words_of_name("dmesg.log"), (Words{"dmesg"}));
  EXPECT_EQ(words_of_name("ethtool_-i_en-x"), (Words{"ethtool", "-i", "en-x"}));
  EXPECT_TRUE(words_of_name("ipmitool_sel").empty());
  EXPECT_EQ(words_of_command("/usr/bin/nvidia-smi --query"), (Words{"nvidia-smi", "--query"}));
}

TEST(SupportIntake, PathsStayInside) {
  const SentLimits limits{.entries = 6};
  Intake intake("x.tar", limits);
  EXPECT_EQ(intake.path("./a//b").value_or(""), "a/b");
  EXPECT_FALSE(intake.path("a/../b"));
  EXPECT_FALSE(intake.path("/etc/passwd"));
  EXPECT_FALSE(intake.path(std::string(5000, 'a')));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "a/";
  EXPECT_FALSE(intake.path(deep));
  EXPECT_TRUE(intake.path("c"));
  EXPECT_FALSE(intake.path("d")) << "too many entries";
}

TEST(SupportReport, WhatIsNotInItIsUnknownAndALinkStaysInside) {
  Sent sent;
  sent.files["sosreport-x/sos_commands/host/hostname"] = {"gpu01\n", 0};
  sent.files["sosreport-x/etc/os-release"] = {"ID=ubuntu\n", 0};
  sent.links["sosreport-x/etc/hosts"] = "../../../../etc/os-release";
  sent.links["sosreport-x/proc/meminfo"] = "/proc/meminfo";
  auto report = report_of(std::move(sent), "x.tar.xz", 1000);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->node, "gpu01");
  const auto host = host_of(std::move(report->tree));
  EXPECT_EQ(line_of(*host, "/etc/hosts"), "ID=ubuntu") << "the root of the report, not of this machine";
  EXPECT_FALSE(host->read("/proc/meminfo"));
  const auto mine = host->read("/proc/cpuinfo");
  EXPECT_TRUE(mine.unknown());
  EXPECT_EQ(mine.miss().why, kNotInReport);
  EXPECT_TRUE(host->list("/sys/class/net").unknown());
  EXPECT_TRUE(host->call("nvml").unknown());
}

TEST(SupportReport, AFolderOfOtherThingsIsNone) {
  Sent sent;
  sent.files["holiday/photo.jpg"] = {"x", 0};
  const auto report = report_of(std::move(sent), "x.tar.xz", 0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kBadInput);
}

}  // namespace
}  // namespace railbed

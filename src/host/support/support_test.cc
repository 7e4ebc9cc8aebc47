#include "host/support/support.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "base/moment.h"
#include "base/text.h"
#include "host/kernel_log.h"
#include "host/support/bug_report.h"
#include "host/support/intake.h"
#include "host/support/pasted.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"
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

// Returns the only report.
Result<SupportReport> report_of(Sent sent, const std::string& name) {
  auto reports = reports_of(std::move(sent), name);
  if (!reports) return fail(std::move(reports.error()));
  EXPECT_EQ(reports->nodes.size(), 1U);
  return std::move(reports->nodes.front());
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

// Returns the kernel log that a report holds by this text.
KernelLogAnswer log_of(const std::string& text, const LogClock& clock, const std::string& extract = "") {
  ReportTree report;
  std::vector<LogText> texts{{"dmesg", text, false}};
  if (!extract.empty()) texts.push_back({"journalctl -b -0", extract, true});
  add_kernel_log(texts, clock, report);
  const auto host = host_of(std::move(report));
  return json::read<KernelLogAnswer>(host->call("kernel-log").value_or("{}")).value_or(KernelLogAnswer{});
}

constexpr const char* kXid = "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', GPU has fallen off the bus.";
constexpr double kFeb23 = 1740327850;  // 2025-02-23T16:24:10Z

TEST(SupportKernel, StampsAreCountedFromTheBoot) {
  const auto log = log_of(
      "[    0.000000] Linux version 6.8.0\n"
      "[   12.500000] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"
      "user  :info  : [   13.000000] NVRM: Xid (PCI:0000:17:00): 48, said by a process\n",
      {1000, 2000, std::nullopt});
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].first, 1012.5);
  EXPECT_FALSE(log.beginning_lost);
  EXPECT_FALSE(log.part);
  EXPECT_EQ(uptime_in(" 12:00:01 up 10 days,  3:25,  2 users,  load").value_or(0),
            (10 * 24 * 60 + 205) * 60.0);
  EXPECT_EQ(uptime_in(" 12:00:01 up 4 min,  0 user,  load").value_or(0), 240.0);
  EXPECT_FALSE(uptime_in("up and away"));
}

// dmesg and journalctl print the stamp of a message of several lines once.
TEST(SupportKernel, IndentedLinesAreOfTheMessageAbove) {
  const std::string rest =
      "               NVRM: installed in this system is not supported by open\n"
      "               NVRM: nvidia.ko because it does not include the required GPU\n";
  const auto log =
      log_of("[   87.358035] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3)\n" + rest +
                 "[   88.000000] NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x24:0x72:1603)\n",
             {1000, 2000, std::nullopt});
  ASSERT_EQ(log.lines.size(), 3U);
  EXPECT_EQ(log.lines[1].text, "NVRM: installed in this system is not supported by open");
  EXPECT_EQ(log.lines[1].first, log.lines[0].first);
  const auto steps =
      log_of("[Feb23 16:24] NVRM: loading\n[  +1.500000] NVRM: The NVIDIA GPU 0000:03:00.0\n" + rest,
             {kFeb23 - 22, kFeb23 + 3600, 0});
  ASSERT_EQ(steps.lines.size(), 2U);
  EXPECT_EQ(steps.lines[1].first, steps.lines[0].first);
  EXPECT_TRUE(log_of("uptime\n" + rest, {1000, 2000, std::nullopt}).lines.empty());
}

TEST(SupportKernel, EveryFormOfALineHasItsTime) {
  const LogClock utc{kFeb23 - 22, kFeb23 + 3600, 0};
  for (const std::string stamp :
       {"[   22.000000] ", "<6>[   22.000000] ", "kern  :err   : [   22.000000] ", "3,339,22000000,-;",
        "[   22.000000] kernel: ", "[   22.000000] gpu01 kernel: ", "[Sun Feb 23 16:24:10 2025] ",
        "kern  :err   : [Sun Feb 23 16:24:10 2025] ", "2025-02-23T17:24:10,000000+01:00 ",
        "Feb 23 16:24:10 gpu01 kernel: ", "Feb 23 16:24:10 gpu01 kernel: [   22.000000] ",
        "Feb 23 16:24:10.000000 gpu01 kernel: ", "2025-02-23T16:24:10+0000 gpu01 kernel: ",
        "2025-02-23T18:24:10.000000+02:00 gpu01 kernel: ", "Sun 2025-02-23 16:24:10 UTC gpu01 kernel: ",
        "Sun 2025-02-23 16:24:10.000000 UTC gpu01 kernel: ", "1740327850.000000 gpu01 kernel: "}) {
    const auto log = log_of(stamp + kXid + "\n", utc);
    ASSERT_EQ(log.lines.size(), 1U) << stamp;
    EXPECT_EQ(log.lines[0].first, kFeb23) << stamp;
    EXPECT_EQ(log.lines[0].text, kXid) << stamp;
  }
  const auto human = log_of("[Feb23 16:24] Linux version 6.8.0\n[  +1.500000] usb 1-1: new\n[  +0.500000] " +
                                std::string(kXid) + "\n",
                            utc);
  ASSERT_EQ(human.lines.size(), 1U);
}

TEST(SupportKernel, OtherProgramsAreNotTheKernel) {
  const LogClock utc{kFeb23 - 22, kFeb23 + 3600, 0};
  for (const std::string stamp : {"Feb 23 16:24:10 gpu01 app[7]: x kernel: ", "Feb 23 16:24:10 gpu01 app: ",
                                  "12,339,22000000,-;", "daemon:info  : [   22.000000] "})
    EXPECT_TRUE(log_of(stamp + kXid + "\n", utc).lines.empty()) << stamp;
}

TEST(SupportKernel, ATimeThatNothingStatesIsUnknown) {
  const std::string line = "[   22.000000] " + std::string(kXid) + "\n";
  EXPECT_EQ(utc_text(log_of(line, {}).lines.at(0).last), "an unknown time");
  const auto year = log_of("Sep 08 07:56:37 gpu01 kernel: " + std::string(kXid) + "\n", {});
  EXPECT_EQ(utc_text(year.lines.at(0).last), "an unknown time") << "syslog prints no year";
  const auto zone = log_of("[Sun Feb 23 16:24:10 2025] " + std::string(kXid) + "\n", {});
  EXPECT_NE(zone.source.find("taken for UTC"), std::string::npos);
  // A report of January holds lines of December.
  const auto before =
      log_of("Dec 31 23:00:00 gpu01 kernel: " + std::string(kXid) + "\n", {std::nullopt, 1768824000, 0});
  EXPECT_EQ(utc_text(before.lines.at(0).last), "2025-12-31T23:00:00Z");
}

TEST(SupportKernel, ALogThatSomebodyCutOutIsAPart) {
  const std::string line = "[   22.000000] " + std::string(kXid) + "\n";
  EXPECT_TRUE(log_of(line, {}).part);
  std::string full;
  for (int i = 0; i < 2000; ++i) full += "[ 9000.000000] usb 1-1: new high-speed device\n";
  EXPECT_TRUE(log_of(full + line, {}).beginning_lost);
}

TEST(SupportKernel, TheJournalsLinesComeBeforeAnOverwrittenBuffer) {
  std::string full;
  for (int i = 0; i < 2000; ++i) full += "[ 9000.000000] usb 1-1: new high-speed device\n";
  const auto log = log_of(full + "[ 9001.000000] NVRM: nvAssert\n", {std::nullopt, kFeb23 + 9000, 0},
                          "Feb 23 16:24:10 gpu01 kernel: " + std::string(kXid) +
                              "\nFeb 23 18:54:09 gpu01 kernel: NVRM: nvAssert\n");
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_EQ(log.lines[0].first, kFeb23);
  EXPECT_EQ(log.begins, kFeb23 + 8999 - 9001) << "a line in both logs tells the boot";
}

TEST(SupportDate, ReadsWhatDatePrintsInManyPlaces) {
  constexpr double kMoment = 1757757048;  // 2025-09-13T09:50:48Z
  for (const std::string text :
       {"Sat Sep 13 09:50:48 UTC 2025", "Sat Sep 13 09:50:48 AM UTC 2025", "Sat 13 Sep 2025 09:50:48 AM GMT",
        "Sa 13. Sep 11:50:48 CEST 2025", "sam. 13 sept. 2025 11:50:48 CEST", "sáb 13 sep 2025 11:50:48 CEST",
        "sab 13 set 2025, 11:50:48, CEST", "Сб 13 сен 2025 12:50:48 MSK",
        "2025年 09月 13日 土曜日 18:50:48 JST", "2025. 09. 13. (토) 18:50:48 KST",
        "Sat Sep 13 02:50:48 AM PDT 2025", "Sat Sep 13 05:50:48 EDT 2025", "2025-09-13T11:50:48+02:00",
        "Sat Sep 13 06:50:48 -03 2025", "za 13 sep 2025 11:50:48 CEST"})
    EXPECT_EQ(date_in(text).value_or(0), kMoment) << text;
  EXPECT_EQ(date_in("Sat Sep 13 09:50:48 PM UTC 2025").value_or(0), kMoment + 12 * 3600);
  EXPECT_EQ(date_in("Sat Sep 13 12:10:00 AM UTC 2025").value_or(0), 1757722200.0);
  EXPECT_EQ(date_in("mar. 16 sept. 2025 09:50:48 UTC").value_or(0), kMoment + 3 * 86400) << "mardi";
  EXPECT_FALSE(date_in("Sat Sep 13 17:50:48 CST 2025")) << "in China and in America";
  EXPECT_EQ(date_in("2025年 09月 13日 星期六 17:50:48 CST", 8 * 3600).value_or(0), kMoment);
  for (const std::string text : {"", "Sep", "Sat Sep 33 09:50:48 UTC 2025", "09/13/2025 09:50:48 UTC",
                                 "1:2:3:4", "Sat Sep 13 29:50:48 UTC 2025", "Mon Jan 19 up 3 days"})
    EXPECT_FALSE(date_in(text, 0)) << text;
}

constexpr const char* kVolta =
    "==============NVSMI LOG==============\n\nKMD Version : 610.43.02\nCUDA UMD Version : 13.3\n\n"
    "Attached GPUs : 1\nGPU 00000000:18:00.0\n    Product Name : Tesla V100-SXM2-16GB\n    GPU UUID : GPU-1\n"
    "    GPU Reset Status\n        Reset Required : Yes\n        Drain and Reset Recommended : No\n"
    "    ECC Errors\n        Volatile\n            Single Bit            \n                Device Memory : 12\n"
    "                Total : 13\n            Double Bit            \n                Texture Memory : N/A\n"
    "                Total : 3\n        Aggregate\n            Double Bit            \n                Total : 7\n"
    "    Retired Pages\n        Single Bit ECC : 1\n        Double Bit ECC : 2\n        Pending : Yes\n"
    "    Temperature\n        GPU Current Temp : 37 C\n        GPU T.Limit Temp : N/A\n"
    "        GPU Slowdown Temp : 87 C\n";

NvmlGpu gpu_of(ReportTree report, const std::string& address) {
  const auto host = host_of(std::move(report));
  return json::read<NvmlGpu>(host->call("nvml " + address).value_or("{}")).value_or(NvmlGpu{});
}

TEST(SupportNvidiaSmi, OlderGpusCountByBitsAndNewerDriversRenameTheirVersions) {
  ReportTree report;
  add_nvidia_smi(kVolta,
                 "GPU 0: V100 (UUID: GPU-1)\nNvlink queries are not supported for Devices in MIG mode\n",
                 report);
  const auto system = json::read<NvmlSystem>(host_of(report)->call("nvml").value_or(""));
  ASSERT_TRUE(system);
  EXPECT_EQ(system->driver_version.value_or(""), "610.43.02");
  EXPECT_EQ(system->cuda_version.value_or(0), 13030);
  const NvmlGpu gpu = gpu_of(std::move(report), "0000:18:00.0");
  EXPECT_EQ(gpu.ecc_volatile_uncorrectable.value_or(0), 3U);
  EXPECT_EQ(gpu.ecc_volatile_corrected.value_or(0), 13U);
  EXPECT_EQ(gpu.ecc_aggregate_uncorrectable.value_or(0), 7U);
  EXPECT_TRUE(gpu.sram_aggregate_uncorrectable.unknown());
  EXPECT_EQ(gpu.recovery_action.value_or(""), "reset");
  EXPECT_TRUE(gpu.retired_pending.value_or(false));
  EXPECT_EQ(gpu.temperature_margin.value_or(0), 50);
  EXPECT_EQ(gpu.nvlinks.miss().missing, Missing::kUnsupported) << "not 0 links";
}

TEST(SupportNvidiaSmi, ReadsXml) {
  ReportTree report;
  add_nvidia_smi(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">\n<nvidia_smi_log>\n"
      "\t<driver_version>590.44.01</driver_version>\n\t<cuda_version>13.1</cuda_version>\n"
      "\t<gpu id=\"00000000:61:00.0\">\n\t\t<product_name>NVIDIA A &amp; B</product_name>\n\t\t<uuid>GPU-1</uuid>\n"
      "\t\t<pci><pci_gpu_link_info><link_widths><max_link_width>16x</max_link_width>"
      "<current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info></pci>\n"
      "\t\t<clocks_event_reasons><clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>"
      "</clocks_event_reasons>\n"
      "\t\t<ecc_errors><volatile><dram_uncorrectable>4</dram_uncorrectable>"
      "<sram_uncorrectable_parity>1</sram_uncorrectable_parity>"
      "<sram_uncorrectable_secded>0</sram_uncorrectable_secded></volatile></ecc_errors>\n"
      "\t\t<remapped_rows><row_remapper_histogram><row_remapper_histogram_max>512 bank(s)"
      "</row_remapper_histogram_max></row_remapper_histogram></remapped_rows>\n"
      "\t\t<fb_memory_usage><total>97887 MiB</total></fb_memory_usage>\n"
      "\t\t<processes><process_info><pid>7</pid></process_info><process_info><pid>8</pid></process_info>"
      "</processes>\n\t</gpu>\n</nvidia_smi_log>\n",
      "", report);
  const NvmlGpu gpu = gpu_of(std::move(report), "0000:61:00.0");
  EXPECT_EQ(gpu.name.value_or(""), "NVIDIA A & B");
  EXPECT_EQ(gpu.pcie_width.value_or(0), 8);
  EXPECT_EQ(gpu.pcie_width_max.value_or(0), 16);
  EXPECT_EQ(gpu.event_reasons.value_or(0), 8U);
  EXPECT_EQ(gpu.ecc_volatile_uncorrectable.value_or(0), 5U);
  EXPECT_EQ(gpu.memory.value_or(0), std::uint64_t{97887} << 20);
  ASSERT_TRUE(gpu.processes);
  EXPECT_EQ(gpu.processes->size(), 2U);
  EXPECT_TRUE(gpu.temperature.unknown());
}

TEST(SupportNvidiaSmi, ErrorsAreWhatNvmlWouldHaveAnswered) {
  for (const std::string line :
       {"Unable to determine the device handle for GPU0000:17:00.0: Unknown Error",
        "Unable to determine the device handle for GPU 0000:17:00.0: GPU is lost.  Reboot the",
        "Unable to determine the device handle for GPU1: 0000:17:00.0: Unknown Error",
        "Unable to determine the device handle for gpu 0000:17:00.0: GPU is lost."}) {
    ReportTree report;
    add_nvidia_smi_errors(line + "\n", report);
    const auto answer = host_of(std::move(report))->call("nvml 0000:17:00.0");
    EXPECT_FALSE(answer) << line;
    EXPECT_FALSE(answer.unknown()) << line;
  }
  ReportTree mismatch;
  add_nvidia_smi_errors(
      "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n", mismatch);
  EXPECT_NE(host_of(std::move(mismatch))->call("nvml").miss().why.find("VERSION_MISMATCH"),
            std::string::npos);
}

TEST(SupportNvidiaSmi, ADriverIsMissingByItsModuleOrItsTool) {
  constexpr const char* kVersion = "/proc/driver/nvidia/version";
  constexpr const char* kSilent =
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n";
  ReportTree no_module;
  no_module.copy("/proc/modules", "ahci 49152 2 - Live 0x0\nnvidiafb 1 0 - Live 0x0\n");
  add_missing_driver(no_module);
  EXPECT_TRUE(host_of(std::move(no_module))->read(kVersion).absent());
  ReportTree silent;
  add_nvidia_smi_errors(kSilent, silent);
  EXPECT_TRUE(host_of(std::move(silent))->read(kVersion).absent());
  ReportTree loaded;
  loaded.copy("/proc/modules", "nvidia 56823808 1 nvidia_uvm, Live 0x0 (POE)\n");
  add_nvidia_smi_errors(kSilent, loaded);
  add_missing_driver(loaded);
  const auto host = host_of(std::move(loaded));
  EXPECT_TRUE(host->read(kVersion).unknown()) << "the module contradicts it";
  EXPECT_FALSE(host->call("nvml").unknown());
}

TEST(SupportRdma, VerbsTellTheRateByWidthAndSpeed) {
  ReportTree report;
  add_ibv_devinfo(
      "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tactive_width:\t\t4X (2)\n"
      "\t\t\tactive_speed:\t\t25.0 Gbps (32)\n\t\tport:\t2\n\t\t\tactive_width:\t\t4X (2)\n"
      "\t\t\tactive_speed:\t\t14.0 Gbps (16)\n\t\tport:\t3\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tactive_speed:\t\tinvalid speed (0)\n",
      report);
  const auto host = host_of(std::move(report));
  const std::string ports = "/sys/class/infiniband/mlx5_0/ports/";
  EXPECT_EQ(line_of(*host, ports + "1/rate"), "100 Gb/sec (4X EDR)");
  EXPECT_EQ(line_of(*host, ports + "2/rate"), "56.25 Gb/sec (4X FDR)");
  EXPECT_TRUE(host->read(ports + "3/rate").unknown());
}

TEST(SupportProcessors, CountsAndNodesFromWhatIsThere) {
  ReportTree report;
  add_lscpu(
      "CPU(s):                  64\nOn-line CPU(s) list:     0-63\nModel name:              AMD EPYC 9354\n"
      "Socket(s):               2\n",
      report);
  add_numactl("available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 5 MB\nnode 1 cpus: 4 5\n",
              report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(line_of(*host, "/sys/devices/system/cpu/online"), "0-63");
  EXPECT_EQ(line_of(*host, "/sys/devices/system/node/node1/cpulist"), "4,5");
  EXPECT_NE(host->read("/proc/cpuinfo").value_or("").find("physical id\t: 1"), std::string::npos);
  ReportTree copied;
  copied.copy("/proc/cpuinfo", "processor\t: 0\nprocessor\t: 3\n");
  add_online(copied);
  EXPECT_EQ(line_of(*host_of(std::move(copied)), "/sys/devices/system/cpu/online"), "0,3");
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
  EXPECT_TRUE(words_of_name("storcli_show").empty());
  EXPECT_EQ(words_of_command("/usr/bin/nvidia-smi --query"), (Words{"nvidia-smi", "--query"}));
  EXPECT_EQ(words_of_command("dmesg:"), (Words{"dmesg"}));
  EXPECT_TRUE(words_of_command("/var/log/dmesg:").empty()) << "a file, not a program";
}

// Forms of drivers 470 and 550, from tables that people posted; names and numbers are made up.
TEST(SupportNvidiaSmi, ReadsTheTable) {
  constexpr std::string_view kTable = R"(Tue Feb  3 09:12:44 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    3 |
| N/A   34C    P0             70W /  700W |       4MiB / 81559MiB  |      0%   E. Process |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  Tesla V100-SXM2...  Off  | 00000000:3B:00.0 Off |                  Off |
|ERR!  ERR! ERR!    ERR! / ERR! |    N/A / N/A         |    ERR!      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|    0   N/A  N/A      4242      C   python                                        2MiB |
+-----------------------------------------------------------------------------------------+
)";
  ReportTree report;
  add_nvidia_smi(kTable, "", report);
  const auto host = host_of(std::move(report));
  const auto system = json::read<NvmlSystem>(host->call("nvml").value_or(""));
  ASSERT_TRUE(system);
  EXPECT_EQ(system->driver_version.value_or(""), "550.54.15");
  EXPECT_EQ(system->cuda_version.value_or(0), 12040);
  EXPECT_EQ(system->gpus.value_or(0), 2);
  const auto gpu = json::read<NvmlGpu>(host->call("nvml 0000:19:00.0").value_or(""));
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->name.value_or(""), "NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(gpu->persistence.value_or(false));
  EXPECT_TRUE(gpu->ecc.value_or(false));
  EXPECT_EQ(gpu->ecc_volatile_uncorrectable.value_or(0), 3U);
  EXPECT_EQ(gpu->temperature.value_or(0), 34);
  EXPECT_EQ(gpu->power.value_or(0), 70);
  EXPECT_EQ(gpu->power_limit.value_or(0), 700);
  EXPECT_EQ(gpu->memory.value_or(0), std::uint64_t{81559} << 20);
  EXPECT_EQ(gpu->compute_mode.value_or(""), "exclusive process");
  EXPECT_FALSE(gpu->mig.value_or(true));
  EXPECT_FALSE(gpu->fan_speed) << "N/A";
  const auto other = json::read<NvmlGpu>(host->call("nvml 0000:3b:00.0").value_or(""));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->name) << "the driver cut it";
  EXPECT_FALSE(other->ecc.value_or(true));
  EXPECT_FALSE(other->temperature) << "ERR!";
  EXPECT_FALSE(other->memory);
  EXPECT_FALSE(other->mig) << "N/A";
}

TEST(SupportPasted, AnOutputIsRecognisedByItsContent) {
  const auto program = [](std::string_view text) {
    const auto outputs = outputs_in("paste", std::string(text)).value_or(std::vector<Output>());
    return outputs.size() == 1 ? outputs[0].words[0] + (outputs[0].filtered ? " (filtered)" : "") : "";
  };
  EXPECT_EQ(program("\n00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 20)\n"), "lspci");
  EXPECT_EQ(program("17:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n"), "lspci (filtered)");
  EXPECT_EQ(program("[    0.000000] Linux version 6.8.0\n"), "dmesg");
  EXPECT_EQ(program("[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 79\n"), "dmesg (filtered)");
  EXPECT_EQ(program("6,3964,206764307,-;nvidia-nvswitch2: open (major=510)\n"), "dmesg (filtered)");
  EXPECT_EQ(program("Feb 23 16:24:18 gpu01 kernel: usb 1-1: new\n"), "dmesg (filtered)");
  EXPECT_EQ(program("CA 'mlx5_0'\n\tCA type: MT4129\n"), "ibstat");
  EXPECT_EQ(program("hca_id:\tmlx5_0\n"), "ibv_devinfo");
  EXPECT_EQ(program("Infiniband device 'mlx5_0' port 1 status:\n"), "ibstatus");
  EXPECT_EQ(program("Settings for ens1np0:\n\tSpeed: 100000Mb/s\n"), "ethtool");
  EXPECT_EQ(program("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n"), "ip");
  EXPECT_EQ(program("Module                  Size  Used by\nnvidia 1 0\n"), "lsmod");
  EXPECT_EQ(program("Dear support,\nit does not work.\n"), "");
  EXPECT_EQ(program(""), "");
}

TEST(SupportPasted, ASessionHoldsTheOutputsOfItsCommands) {
  const auto found = outputs_in("paste",
                                "root@gpu01:~# ibstat\nCA 'mlx5_0'\nroot@gpu01:~# make it work\nno\n"
                                "[root@gpu01 ~]# sudo dmesg -T | grep -i xid\n[Sun Feb 23 16:24:18 2025] x\n"
                                "$ lsmod | grep nvidia\nnvidia 1 0\n");
  ASSERT_TRUE(found);
  const auto& outputs = *found;
  ASSERT_EQ(outputs.size(), 3U) << "a filtered list of modules says nothing about the others";
  EXPECT_EQ(outputs[0].words, (std::vector<std::string>{"ibstat"}));
  EXPECT_EQ(outputs[0].text, "CA 'mlx5_0'\n");
  EXPECT_FALSE(outputs[0].filtered);
  EXPECT_EQ(outputs[1].words, (std::vector<std::string>{"dmesg", "-T"}));
  EXPECT_TRUE(outputs[1].filtered);
  EXPECT_EQ(outputs[2].words, (std::vector<std::string>{"hostname"}));
  EXPECT_EQ(outputs[2].text, "gpu01");
}

TEST(SupportPasted, ASessionOnTwoMachinesIsNotOfOne) {
  const auto two = outputs_in("paste", "root@gpu01:~# uname\nLinux\n[root@gpu02 ~]# uname\nLinux\n");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().text,
            "paste: a session on gpu01 and on gpu02: put the outputs of each machine into a file of its own");
  EXPECT_TRUE(outputs_in("paste", "root@gpu01:~# uname\nLinux\nroot@gpu01:/tmp# uname\nLinux\n"));
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
  auto report = report_of(std::move(sent), "x.tar.xz");
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

// A Jetson's table (driver 540.4) and the head of one.
TEST(SupportReport, ATableWithoutAGpuOnPciIsNoListOfNone) {
  const std::string head =
      "+---------------------------------------------------------------------------------------+\n"
      "| NVIDIA-SMI 540.4.0                Driver Version: 540.4.0      CUDA Version: 12.6     |\n"
      "|=========================================+======================+======================|\n";
  const std::string orin =
      "|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |\n"
      "| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |\n"
      "|                                         |                      |                  N/A |\n";
  for (const std::string& text : {head, head + orin}) {
    Sent sent;
    sent.files[std::string(kSingleFile)] = {text, 0};
    auto reports = reports_of(std::move(sent), "x.txt");
    ASSERT_TRUE(reports);
    EXPECT_EQ(reports->unread.size(), text == head ? 0U : 1U);
    const auto host = host_of(std::move(reports->nodes.front().tree));
    EXPECT_TRUE(host->call("nvml").ok());
    EXPECT_TRUE(host->call("nvml list").unknown());
  }
  Sent sent;
  sent.files[std::string(kSingleFile)] = {"$ nvidia-smi\n" + head + "No devices were found\n", 0};
  auto none = report_of(std::move(sent), "x.txt");
  ASSERT_TRUE(none);
  EXPECT_EQ(host_of(std::move(none->tree))->call("nvml list").value_or(""), "[]");
}

TEST(SupportReport, Ibdev2netdevMayHaveALineAbove) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {"------------\nmlx5_0 port 1 ==> enp94s0f0np0 (Down)\n", 0};
  auto report = report_of(std::move(sent), "x.txt");
  ASSERT_TRUE(report);
  EXPECT_TRUE(host_of(std::move(report->tree))->list("/sys/class/infiniband").ok());
}

TEST(SupportReport, UptimeAloneIsAFactAndEthtoolAloneStatesWhyItIsNone) {
  const auto alone = [](std::string_view text) {
    Sent sent;
    sent.files[std::string(kSingleFile)] = {std::string(text), 0};
    return report_of(std::move(sent), "mail.txt");
  };
  auto up = alone(" 12:00:00 up 33 days,  1:05,  2 users,  load average: 0.00, 0.01, 0.05\n");
  ASSERT_TRUE(up) << up.error().text;
  EXPECT_EQ(line_of(*host_of(std::move(up->tree)), "/proc/uptime"), "2855100.00 0.00");
  const auto link = alone("Settings for eno1:\n\tSpeed: 25000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n");
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().text.find("`ethtool eno1` (25000Mb/s, link detected): nothing here lists"),
            std::string::npos)
      << link.error().text;
  const auto module =
      alone("\tIdentifier                                : 0x11 (QSFP28)\n\tExtended identifier : 0xcc\n");
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().text.find("readings of a transceiver"), std::string::npos) << module.error().text;
}

TEST(SupportReport, AFolderOfOtherThingsIsNone) {
  Sent sent;
  sent.files["holiday/photo.jpg"] = {"x", 0};
  const auto report = report_of(std::move(sent), "x.tar.xz");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kBadInput);
}

TEST(SupportReport, AnOutputThatHoldsNothingIsNone) {
  Sent sent;
  sent.files["dmesg.txt"] = {"dmesg: read kernel buffer failed: Operation not permitted\n", 0};
  const auto report = report_of(std::move(sent), "outputs");
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text.find("nothing that railbed understands"), std::string::npos);
}

TEST(SupportReport, OneOutputIsRecognisedByItsNameOrItsText) {
  for (const char* name : {"nvidia-smi-q.txt", "mail.txt"}) {
    Sent sent;
    sent.files[std::string(kSingleFile)] = {kVolta, 0};
    auto report = report_of(std::move(sent), name);
    ASSERT_TRUE(report) << name;
    EXPECT_TRUE(host_of(std::move(report->tree))->call("nvml 0000:18:00.0")) << name;
  }
}

// The sections of nvidia-bug-report.sh: headings of files are no commands, and its first lines state the time.
TEST(SupportReport, ABugReportKeepsItsEvidence) {
  const std::string rule(44, '_');
  Sent sent;
  sent.files[std::string(kSingleFile)] = {
      rule + "\n\nStart of NVIDIA bug report log file.\n\nDate: sam. 13 sept. 2025 17:50:48 CST\n" + rule +
          "\n\n*** /etc/issue\n*** ls: -rw-r--r-- 1 root root 0 2025-01-01 09:47:51.519401349 +0800 /etc/issue\nx\n" +
          rule +
          "\n\nScanning kernel log files for NVIDIA kernel messages:\n\n  /var/log/dmesg:\n"
          "[    4.793738] kernel: NVRM: loading\n\n  journalctl -b -0:\n" +
          rule + "\n\n/var/log/dmesg:\n\ndmesg:\n\n[    0.000000] Linux version 6.8.0\n[   22.000000] " +
          kXid + "\n[  300.000000] usb 1-1: new\n\n" + rule +
          "\n\n*** /proc/driver/nvidia/./version does not exist\n" + rule + "\n",
      0};
  auto report = report_of(std::move(sent), "nvidia-bug-report.log");
  ASSERT_TRUE(report) << report.error().text;
  const auto host = host_of(std::move(report->tree));
  EXPECT_TRUE(host->read("/proc/driver/nvidia/version").absent());
  const auto log = json::read<KernelLogAnswer>(host->call("kernel-log").value_or(""));
  ASSERT_TRUE(log);
  ASSERT_EQ(log->lines.size(), 1U);
  EXPECT_EQ(utc_text(log->lines[0].last), "2025-09-13T09:46:10Z");
}

// "Scanning kernel log files" of a report of driver 550, composed: NVIDIA's messages of each boot, below its command.
TEST(SupportReport, ABugReportHasTheMessagesOfEarlierBoots) {
  const std::string rule(44, '_');
  const std::string text =
      rule + "\n\nStart of NVIDIA bug report log file.\n" + rule +
      "\njournalctl -b -1 _COMM=Xorg\n\n  journalctl -b -1:\nJul 07 kernel: NVRM: of no list\n" + rule +
      "\n\nScanning kernel log files for NVIDIA kernel messages:\n\n  /var/log/kern.log:\n"
      "Jul 06 21:45:45 gpu01 kernel: NVRM: of an older boot\n\n  journalctl -b -0:\n"
      "Jul 07 18:37:00 gpu01 kernel: NVRM: of this boot\n\n  journalctl -b -1:\n"
      "Jul 07 18:36:09 gpu01 kernel: NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.\n"
      "Jul 07 18:36:10 gpu01 nvidia-persistenced[7]: NVRM: started\n\n  journalctl -b -2:\n" +
      rule + "\n  journalctl -b -1:\nJul 07 18:36:11 gpu01 kernel: NVRM: below the section\n";
  const std::string before = messages_of_boot(text, 1);
  EXPECT_EQ(trim(before),
            "Jul 07 18:36:09 gpu01 kernel: NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.");
  const auto first = before.find("Jul");
  EXPECT_EQ(std::count(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(first), '\n'),
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("Jul 07 18:36:09")),
                       '\n'))
      << "it keeps its line";
  EXPECT_EQ(messages_of_boot(text, 2), "");
  EXPECT_EQ(messages_of_log_file(text), "") << "a line without a stamp states no boot";
}

// /var/log/kern.log of the script, composed: its lines are of several boots, which the kernel's stamps tell apart.
TEST(SupportReport, ABugReportHasTheMessagesOfItsLogFile) {
  const auto report = [](const std::string& log) {
    const std::string rule(44, '_');
    return rule + "\n\nStart of NVIDIA bug report log file.\n" + rule +
           "\n\nScanning kernel log files for NVIDIA kernel messages:\n\n  /var/log/kern.log:\n" + log +
           "\n  journalctl -b -0:\nJul 24 kernel: NVRM: of this boot\n" + rule + "\n";
  };
  const std::string fell =
      "Jul 22 18:19:48 gpu01 kernel: [   20.817762] NVRM: GPU at 00000000:01:00.0 has fallen off the bus.\n";
  const std::string next =
      "Jul 22 18:22:22 gpu01 kernel: [    2.289339] NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n";
  const std::string last =
      "Jul 24 17:40:41 gpu01 kernel: [    2.1] usb 1-1: new\nJul 24 17:40:42 gpu01 kernel: [    2.3] NVRM: of the last\n";
  const std::string found = messages_of_log_file(report(fell + next + last));
  EXPECT_EQ(trim(found), trim(fell + next));
  EXPECT_EQ(std::count(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(found.find("Jul")), '\n'),
            8)
      << "it keeps its line";
  EXPECT_EQ(messages_of_log_file(report(fell)), "") << "one boot may be this one";
  EXPECT_EQ(messages_of_log_file(report("")), "");
}

TEST(SupportReport, ThePortsOfATopologyAreNoKernelLog) {
  EXPECT_FALSE(holds_kernel_log("[1]\t\"S-0ff08c432172aa1a\"[21]\t\t# \"leaf\" lid 226 4xHDR\n"));
  EXPECT_FALSE(holds_kernel_log("[41] \"H-0ff08c43213b3f38\"[1](ff08c43213b3f38)\n"));
  EXPECT_TRUE(holds_kernel_log("[   41.906990] NVRM: again.\n"));
}

TEST(SupportReport, TheFabricManagersLogIsNoKernelLog) {
  EXPECT_FALSE(holds_kernel_log("[Feb 27 2025 15:10:02] [INFO] [tid 1803] multicast group 0 is freed.\n"));
  EXPECT_TRUE(holds_kernel_log("[Thu Feb 27 15:10:02 2025] a line\n"));
  EXPECT_TRUE(holds_kernel_log("[Feb27 15:10] a line\n"));
}

// On Windows a column states the driver's model in place of persistence mode.
TEST(SupportReport, WindowsHasNoPersistenceMode) {
  ReportTree report;
  add_nvidia_smi(
      "| NVIDIA-SMI 560.94                 Driver Version: 560.94         CUDA Version: 12.6     |\n"
      "|   0  NVIDIA GeForce RTX 3060      WDDM  |   00000000:07:00.0  On |                  N/A |\n"
      "| 41%   55C    P0             42W /  170W |    1342MiB /  12288MiB |      3%      Default |\n"
      "|                                         |                        |                  N/A |\n",
      "", report);
  const auto host = host_of(std::move(report));
  const std::string answer = host->call("nvml 0000:07:00.0").value_or("");
  EXPECT_NE(answer.find("RTX 3060"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("not understood"), std::string::npos) << answer;
}

TEST(SupportReport, EccIsOnWhereMigHidesTheCount) {
  ReportTree report;
  add_nvidia_smi(
      "| NVIDIA-SMI 515.86.01    Driver Version: 515.86.01    CUDA Version: 11.7     |\n"
      "|   0  NVIDIA A100 80G...  On   | 00000001:00:00.0 Off |                   On |\n"
      "| N/A   34C    P0    44W / 300W |     45MiB / 81920MiB |     N/A      Default |\n"
      "|                               |                      |              Enabled |\n",
      "", report);
  const auto host = host_of(std::move(report));
  EXPECT_NE(host->call("nvml 0001:00:00.0").value_or("").find("\"ecc\":{\"value\":true"), std::string::npos)
      << host->call("nvml 0001:00:00.0").value_or("");
}

// ip -d names the function that an interface stands for, also where no list of functions was sent.
TEST(SupportReport, AnInterfacesFunctionNeedsNoLspci) {
  const auto host_of_ip = [](bool with_lspci) {
    ReportTree report;
    if (with_lspci) add_lspci("00:00.0 Host bridge: Intel Corporation Device 09a2\n", true, report);
    add_ip_address(
        "2: ens1: <BROADCAST,UP> mtu 9000 qdisc mq state UP qlen 1000\n"
        "    link/ether a0:88:c2:03:f1:a2 brd ff:ff:ff:ff:ff:ff promiscuity 0 parentbus pci parentdev 0000:17:00.0\n",
        true, report);
    return host_of(std::move(report));
  };
  EXPECT_EQ(host_of_ip(false)->resolve("/sys/class/net/ens1/device").value_or(""),
            "/sys/bus/pci/devices/0000:17:00.0");
  EXPECT_TRUE(host_of_ip(false)->list("/sys/bus/pci/devices").unknown());
  EXPECT_TRUE(host_of_ip(true)->read("/sys/bus/pci/devices/0000:17:00.0/class").absent())
      << "the whole list does not have it";
}

}  // namespace
}  // namespace railbed

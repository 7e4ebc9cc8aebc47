// The forms of lspci beside -v: -mm and -vmm for programs, and the drawing of -t.
#include <gtest/gtest.h>

#include "host/support/outputs.h"
#include "host/support/pasted.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

const std::string kGpu = "/sys/bus/pci/devices/0000:17:00.0";

constexpr const char* kRecords =
    "Slot:\t00:00.0\nClass:\tHost bridge [0600]\nVendor:\tIntel Corporation [8086]\nDevice:\tDevice [09a2]\nProgIf:\t00\n\n"
    "Slot:\t17:00.0\nClass:\t3D controller [0302]\nVendor:\tNVIDIA Corporation [10de]\n"
    "Device:\tGH100 [H100 SXM5 80GB] [2330]\nSVendor:\tNVIDIA Corporation [10de]\nSDevice:\tDevice [16c1]\n"
    "PhySlot:\t21\nRev:\ta1\nProgIf:\t00\nDriver:\tnvidia\nModule:\tnvidia_drm\nModule:\tnvidia\nNUMANode:\t1\nIOMMUGroup:\t42\n";

TEST(LspciForms, ReadsRecords) {
  ReportTree report;
  add_lspci(kRecords, true, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(line_of(*host, kGpu + "/class"), "0x030200");
  EXPECT_EQ(line_of(*host, kGpu + "/vendor"), "0x10de");
  EXPECT_EQ(line_of(*host, kGpu + "/device"), "0x2330");
  EXPECT_EQ(line_of(*host, kGpu + "/numa_node"), "1");
  EXPECT_EQ(host->resolve(kGpu + "/driver").value_or(""), "/sys/bus/pci/drivers/nvidia");
  EXPECT_TRUE(host->resolve("/sys/bus/pci/devices/0000:00:00.0/driver").absent()) << "-k was given";
  EXPECT_TRUE(host->read("/sys/bus/pci/devices/0000:00:00.0/numa_node").unknown());
  EXPECT_TRUE(host->read(kGpu + "/current_link_width").unknown());
  EXPECT_TRUE(host->read("/sys/bus/pci/devices/0000:99:00.0/class").absent());
}

TEST(LspciForms, RecordsWithoutNumbersOrInTheOldForm) {
  ReportTree report;
  add_lspci(
      "Device:\t17:00.0\nClass:\t3D controller\nVendor:\tNVIDIA Corporation\nDevice:\tGH100 [H100 SXM5 80GB]\n",
      true, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(line_of(*host, kGpu + "/class"), "0x030200");
  EXPECT_EQ(line_of(*host, kGpu + "/vendor"), "0x10de");
  EXPECT_TRUE(host->read(kGpu + "/device").unknown());
  EXPECT_TRUE(host->resolve(kGpu + "/driver").unknown()) << "only -k prints it";
  ReportTree numbers;
  add_lspci("Slot:\t17:00.0\nClass:\t0302\nVendor:\t10de\nDevice:\t2330\n", true, numbers);
  EXPECT_EQ(line_of(*host_of(std::move(numbers)), kGpu + "/device"), "0x2330");
}

TEST(LspciForms, ReadsQuotedWords) {
  ReportTree report;
  add_lspci(
      "17:00.0 \"3D controller [0302]\" \"NVIDIA Corporation [10de]\" \"GH100 [a \\\"b\\\"] [2330]\" -ra1 -p00 \"\" \"\"\n"
      "18:00.0 \"Non-Volatile memory controller\" \"Intel Corporation\" \"Device 0a54\" -p02 \"Intel Corporation\" \"x\"\n",
      true, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(line_of(*host, kGpu + "/device"), "0x2330");
  EXPECT_EQ(line_of(*host, "/sys/bus/pci/devices/0000:18:00.0/class"), "0x010802");
  EXPECT_EQ(host->run({"lspci", "-s", "0000:17:00.0"})->output, "PCI: NVIDIA Corporation GH100 [a \"b\"]\n");
}

constexpr const char* kNumbered =
    "0000:15:00.0 PCI bridge [0604]: Broadcom / LSI Device [1000:c030]\n0000:17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330]\n"
    "0000:1a:00.1 Ethernet controller [0200]: Mellanox Technologies MT2910 [15b3:1021]\n";
constexpr const char* kDrawing =
    "-+-[0000:80]-+-00.0  Intel Corporation Device 09a2\n"
    " |           \\-01.0-[81]----00.0  Intel Corporation Device 0a54\n"
    " +-[0000:14]-+-00.0  Intel Corporation Device 09a2\n"
    " |           +-01.0-[15-1a]----00.0-[16-1a]--+-00.0-[17]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]\n"
    " |           |                               +-01.0-[18]--\n"
    " |           |                               \\-02.0-[1a]--+-00.0  Mellanox Technologies MT2910\n"
    " |           |                                            \\-00.1  Mellanox Technologies MT2910\n"
    " |           \\-02.0\n"
    " \\-[0000:00]---00.0  Intel Corporation Device 09a2\n";

TEST(LspciForms, ADrawingGivesPlaces) {
  ReportTree report;
  add_lspci(kNumbered, true, report, kDrawing);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(host->resolve(kGpu).value_or(""),
            "/sys/devices/pci0000:14/0000:14:01.0/0000:15:00.0/0000:16:00.0/0000:17:00.0");
  EXPECT_EQ(host->resolve("/sys/bus/pci/devices/0000:1a:00.1").value_or(""),
            "/sys/devices/pci0000:14/0000:14:01.0/0000:15:00.0/0000:16:02.0/0000:1a:00.1");
  EXPECT_EQ(line_of(*host, kGpu + "/class"), "0x030200");
}

TEST(LspciForms, DrawingsOfOldVersionsAndBrokenOnes) {
  ReportTree old;
  add_lspci("17:00.0 3D controller: NVIDIA Corporation GH100\n", true, old,
            "-[00]-+-00.0\n      \\-01.0-[17]----00.0\n");
  EXPECT_EQ(host_of(std::move(old))->resolve(kGpu).value_or(""),
            "/sys/devices/pci0000:00/0000:00:01.0/0000:17:00.0");
  ReportTree broken;
  add_lspci("17:00.0 3D controller: NVIDIA Corporation GH100\n", true, broken,
            "-[zz]-+-00.0\n  \\-01.0-[17\n+-[\n");
  EXPECT_EQ(host_of(std::move(broken))->resolve(kGpu).value_or(""), kGpu);
}

TEST(LspciForms, AreRecognisedByTheirContent) {
  const auto command = [](const std::string& text) {
    const auto outputs = outputs_in("paste", text).value_or(std::vector<Output>());
    return outputs.size() == 1 ? command_of(outputs[0]) + (outputs[0].filtered ? " (part)" : "") : "";
  };
  EXPECT_EQ(command(kRecords), "lspci -vmm");
  EXPECT_EQ(command(std::string(kRecords).substr(std::string(kRecords).find("Slot:\t17"))),
            "lspci -vmm (part)");
  EXPECT_EQ(command(kDrawing), "lspci -tv");
  EXPECT_EQ(command("00:00.0 \"Host bridge\" \"Intel Corporation\" \"Device\"\n"), "lspci");
}

TEST(LspciForms, ADrawingAloneIsNoListOfFunctions) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {kDrawing, 0};
  const auto reports = reports_of(std::move(sent), "tree.txt");
  ASSERT_FALSE(reports);
  EXPECT_NE(reports.error().text.find("lspci -nn"), std::string::npos) << reports.error().text;
}

// A list that does not begin at the first function is of some; those of NVIDIA in it are the GPUs to look at.
TEST(LspciForms, AListOfSomeFunctionsNamesItsGpus) {
  const auto gpus = [](const std::string& text) {
    Sent sent;
    sent.files[std::string(kSingleFile)] = {text, 0};
    auto reports = reports_of(std::move(sent), "x");
    const auto host = reports ? host_of(std::move(reports->nodes.front().tree)) : nullptr;
    return host == nullptr ? std::string("no report") : host->call("nvml list").value_or("none");
  };
  const std::string gpu =
      "0001:00:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)\n";
  const std::string bridge = "0005:00:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:1af1] (rev a1)\n";
  EXPECT_EQ(gpus(gpu + bridge), "[\"0001:00:00.0\"]");
  EXPECT_EQ(gpus(gpu), "none") << "one function does not tell how many there are";
  EXPECT_EQ(gpus(bridge + bridge), "none");
  EXPECT_EQ(gpus("root@gpu01:~# lspci -nn -s 0001:00:00.0\n" + gpu + bridge), "none");
  EXPECT_EQ(gpus("00:00.0 Host bridge: Intel Corporation Device 09a2\n" + gpu), "none")
      << "the whole list is the folder";
}

// GB200 in a pci.ids that does not have it: the number is the only name.
TEST(LspciForms, ADeviceWithoutANameHasItsNumber) {
  ReportTree report;
  add_lspci(
      "0008:01:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2941] (rev a1)\n"
      "0009:01:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2342] (rev a1)\n",
      false, report);
  const auto host = host_of(std::move(report));
  EXPECT_NE(host->run({"lspci", "-s", "0008:01:00.0"})->output.find("NVIDIA Corporation Device 2941"),
            std::string::npos);
  EXPECT_NE(host->run({"lspci", "-s", "0009:01:00.0"})->output.find("NVIDIA Corporation GH100\n"),
            std::string::npos);
}

}  // namespace
}  // namespace railbed

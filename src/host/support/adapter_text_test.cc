// Forms of mlxconfig and mlxfwmanager, composed by the sources in tests/SOURCES.md.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "host/sent_answers.h"
#include "host/support/pasted.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

constexpr const char* kQuery =
    "\nDevice #1:\n----------\n\nDevice type:        ConnectX7           \nName:               MCX75310AAS-NEA_Ax\n"
    "Description:        NVIDIA ConnectX-7 HHHL Adapter card; 400GbE / NDR IB (default mode); Single-port OSFP\n"
    "Device:             0000:17:00.0        \n\n"
    "Configurations:                                          Default             Current             Next Boot\n"
    "        MEMIC_SIZE_LIMIT                            _256KB(1)           _256KB(1)           _256KB(1)\n"
    " RO     NUM_OF_PF                                   1                   1                   1\n"
    "        HOST_CHAINING_DESCRIPTORS                   Array[0..7]         Array[0..7]         Array[0..7]\n"
    "*       ADVANCED_PCI_SETTINGS                       False(0)            True(1)             True(1)\n"
    "*       MAX_ACC_OUT_READ                            0                   44                  44\n"
    "*       LINK_TYPE_P1                                IB(1)               IB(1)               ETH(2)\n"
    "The '*' shows parameters with next value different from default/current value.\n";

// mlxconfig of MFT 4.1x and mstconfig of Debian print one column, and name the device as it was given.
constexpr const char* kNextBootAlone =
    "\nDevice #1:\n----------\n\nDevice type:    ConnectX3\nDevice:         09:00.0\n\n"
    "Configurations:                              Next Boot\n"
    "         SRIOV_EN                            True(1)\n"
    "         LINK_TYPE_P1                        IB(1)\n"
    "         LINK_TYPE_P2                        ETH(2)\n";

constexpr const char* kChange =
    "\nDevice #1:\n----------\n\nDevice type:    ConnectX5\nDevice:         0000:21:00.0\n\n"
    "Configurations:                              Next Boot       New\n"
    "         SRIOV_EN                            False(0)        True(1)\n\n"
    " Apply new Configuration? (y/n) [n] : y\nApplying... Done!\n";

constexpr const char* kFirmware =
    "Querying Mellanox devices firmware ...\n\nDevice #1:\n----------\n\n  Device Type:      ConnectX7\n"
    "  Part Number:      MCX75310AAS-NEA_Ax\n  Description:      NVIDIA ConnectX-7 HHHL Adapter card\n"
    "  PSID:             MT_0000000838\n  PCI Device Name:  0000:17:00.0\n  Base GUID:        a088c20300000001\n"
    "  Versions:         Current        Available     \n     FW             28.42.1000     28.43.1014    \n"
    "     PXE            3.7.0500       N/A           \n\n  Status:           Update required\n\n"
    "Device #2:\n----------\n\n  Device Type:      ConnectX6LX\n  Part Number:      MCX631102AS-ADA_Ax\n"
    "  PSID:             MT_0000000575\n  PCI Device Name:  /dev/mst/mt4127_pciconf0\n"
    "  Versions:         Current        Available     \n     FW             26.33.1048     N/A           \n\n"
    "  Status:           No matching image found\n\n";

std::unique_ptr<Host> host_of_texts(const std::vector<std::string>& texts) {
  Sent sent;
  for (std::size_t i = 0; i < texts.size(); ++i)
    sent.files["gpu01/" + std::to_string(i) + ".txt"] = {texts[i], 0};
  auto reports = reports_of(std::move(sent), "x");
  if (!reports || reports->nodes.size() != 1) return nullptr;
  return host_of(std::move(reports->nodes.front().tree));
}

std::vector<AdapterAnswer> adapters_of(const std::vector<std::string>& texts) {
  const auto host = host_of_texts(texts);
  const auto answer = host ? host->call("adapters") : Reading<std::string>();
  auto adapters = answer ? json::read<std::vector<AdapterAnswer>>(*answer) : std::vector<AdapterAnswer>();
  return adapters ? *adapters : std::vector<AdapterAnswer>();
}

const AdapterSetting* find_setting(const AdapterAnswer& adapter, const std::string& name) {
  for (const AdapterSetting& setting : adapter.settings)
    if (setting.name == name) return &setting;
  return nullptr;
}

TEST(AdapterText, ReadsTheThreeColumnsOfAQuery) {
  const auto adapters = adapters_of({kQuery});
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_EQ(adapters[0].pci_address, "0000:17:00.0");
  EXPECT_EQ(adapters[0].type, "ConnectX7");
  EXPECT_EQ(adapters[0].part_number, "MCX75310AAS-NEA_Ax");
  EXPECT_TRUE(adapters[0].configured);
  EXPECT_EQ(adapters[0].settings.size(), 6U) << "the sentence below the table is no setting";
  const auto* type = find_setting(adapters[0], "LINK_TYPE_P1");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->standard + type->current + type->next, "IB(1)IB(1)ETH(2)");
  EXPECT_EQ(find_setting(adapters[0], "MAX_ACC_OUT_READ")->current, "44");
  EXPECT_NE(find_setting(adapters[0], "NUM_OF_PF"), nullptr) << "RO is a mark";
}

TEST(AdapterText, OneColumnIsTheNextBootAlone) {
  const auto adapters = adapters_of({kNextBootAlone});
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_EQ(adapters[0].pci_address, "0000:09:00.0");
  const auto* type = find_setting(adapters[0], "LINK_TYPE_P2");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->next, "ETH(2)");
  EXPECT_EQ(type->current, "");
}

TEST(AdapterText, AChangeIsNoQuery) {
  const auto adapters = adapters_of({kChange});
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_FALSE(adapters[0].configured);
  EXPECT_TRUE(adapters[0].settings.empty()) << "nothing shows that it was applied";
}

TEST(AdapterText, ACutOutputHasNoSettings) {
  const std::string text = kQuery;
  const auto adapters = adapters_of({text.substr(0, text.find("        MEMIC"))});
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_TRUE(adapters[0].configured);
  EXPECT_TRUE(adapters[0].settings.empty());
}

TEST(AdapterText, FirmwareOfSeveralAdaptersIsMergedWithTheirSettings) {
  const auto adapters = adapters_of({kQuery, kFirmware, kNextBootAlone});
  ASSERT_EQ(adapters.size(), 3U) << "outputs of different adapters are of one machine";
  for (const AdapterAnswer& adapter : adapters) {
    if (adapter.pci_address != "0000:17:00.0") continue;
    EXPECT_EQ(adapter.psid, "MT_0000000838");
    EXPECT_EQ(adapter.firmware, "28.42.1000");
    EXPECT_EQ(adapter.available, "28.43.1014");
    EXPECT_EQ(adapter.status, "Update required");
    EXPECT_EQ(adapter.settings.size(), 6U);
  }
  EXPECT_EQ(adapters_of({kFirmware}).back().available, "") << "N/A";
  EXPECT_FALSE(adapters_of({kFirmware}).front().configured);
}

TEST(AdapterText, FirmwareIsThatOfTheCardsRdmaDevices) {
  ReportTree report;
  add_lspci(
      "17:00.0 Infiniband controller: Mellanox Technologies MT2910\n17:00.1 Infiniband controller: Mellanox "
      "Technologies MT2910\n18:00.0 Infiniband controller: Mellanox Technologies MT2910\n",
      true, report);
  report.link("/sys/class/infiniband/mlx5_0/device", "/sys/bus/pci/devices/0000:17:00.0");
  report.link("/sys/class/infiniband/mlx5_1/device", "/sys/bus/pci/devices/0000:17:00.1");
  report.link("/sys/class/infiniband/mlx5_2/device", "/sys/bus/pci/devices/0000:18:00.0");
  report.line("/sys/class/infiniband/mlx5_0/fw_ver", "28.41.1000");
  add_adapters({{"", kFirmware}}, report);
  const auto host = host_of(std::move(report));
  EXPECT_EQ(line_of(*host, "/sys/class/infiniband/mlx5_0/fw_ver"), "28.41.1000")
      << "the kernel's own file counts";
  EXPECT_EQ(line_of(*host, "/sys/class/infiniband/mlx5_0/board_id"), "MT_0000000838");
  EXPECT_EQ(line_of(*host, "/sys/class/infiniband/mlx5_1/fw_ver"), "28.42.1000");
  EXPECT_TRUE(host->read("/sys/class/infiniband/mlx5_2/fw_ver").unknown());
}

TEST(AdapterText, AnOutputThatNamesNoAdapterIsLeftOut) {
  ReportTree report;
  add_adapters(
      {{"", "Device type:    ConnectX4\nConfigurations:      Next Boot\n   LINK_TYPE_P1     IB(1)\n"}},
      report);
  EXPECT_FALSE(report.has_call("adapters"));
  EXPECT_EQ(report.left_out().size(), 1U);
  add_adapters({{"0000:3b:00.0", "Configurations:      Next Boot\n   LINK_TYPE_P1     IB(1)\n"}}, report);
  EXPECT_TRUE(report.has_call("adapters")) << "the command names it";
}

TEST(AdapterText, OtherTextsAreNotRecognised) {
  for (const std::string text : {"Device #1:\n  Platform Name: NVIDIA CUDA\n  Device Type: GPU\n",
                                 "Querying Mellanox devices firmware ...\n-E- No devices found\n",
                                 "Configurations:\n  Release\n  Debug\n"}) {
    const auto outputs = outputs_in("x.txt", text);
    ASSERT_TRUE(outputs);
    EXPECT_TRUE(outputs->empty()) << text;
  }
}

TEST(AdapterText, HasBounds) {
  std::string text = "Device #1:\nDevice: 0000:17:00.0\nConfigurations:  Next Boot\n";
  for (int i = 0; i < 3000; ++i) text += "  SETTING_" + std::to_string(i) + "  1\n";
  EXPECT_EQ(adapters_of({text}).front().settings.size(), kMostSentSettings);
  std::string many;
  for (int i = 0; i < 300; ++i)
    many += "Device #1:\nDevice: card" + std::to_string(i) + "\nConfigurations:  Next Boot\n  A_B  1\n";
  EXPECT_EQ(adapters_of({many}).size(), kMostSentAdapters);
}

TEST(AdapterText, HostileTextsAreShownAsText) {
  const std::string huge(32 << 10, 'A');  // the kind of a text is known by its first 64 KiB
  const std::string blanks =
      "Device #1:\nDevice: 0000:17:00.0\nConfigurations:  Next Boot\n" + std::string(1 << 20, ' ') + "A 1\n";
  EXPECT_TRUE(adapters_of({blanks}).front().settings.empty());
  const auto adapters =
      adapters_of({"Device #1:\nDevice type: Connect\x1b[31mX7\nDevice: 0000:17:00.0\nName: " + huge +
                   "\nConfigurations:  Next Boot\n  LINK_TYPE_P1  \x07IB(1)\n  " + huge + "  1\n"});
  ASSERT_EQ(adapters.size(), 1U);
  EXPECT_EQ(adapters[0].type.find('\x1b'), std::string::npos);
  EXPECT_LE(adapters[0].part_number.size(), kMostSentText);
  ASSERT_EQ(adapters[0].settings.size(), 1U);
  EXPECT_EQ(adapters[0].settings[0].next.find('\x07'), std::string::npos);
}

}  // namespace
}  // namespace railbed

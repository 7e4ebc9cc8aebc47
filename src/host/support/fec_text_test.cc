#include <gtest/gtest.h>

#include "base/json.h"
#include "host/device_calls.h"
#include "host/support/outputs.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

using Modes = std::vector<FecMode>;
using Lanes = std::vector<std::uint64_t>;

// Returns what the host call "fec eth0" answers of a report that lists eth0.
std::optional<FecState> fec_of(std::string_view text, const std::string& interface = "eth0") {
  ReportTree report;
  report.line("/sys/class/net/" + interface + "/mtu", "9000");
  add_ethtool_fec(text, report);
  const auto answer = host_of(std::move(report))->call("fec " + interface);
  if (!answer) return std::nullopt;
  auto fec = json::read<FecState>(*answer);
  return fec ? std::optional(std::move(*fec)) : std::nullopt;
}

TEST(FecText, OfOldVersionsHasModesAlone) {
  const auto fec =
      fec_of("FEC parameters for eth0:\nConfigured FEC encodings: Auto\nActive FEC encoding: Off\n");
  ASSERT_TRUE(fec);
  EXPECT_EQ(fec->configured, Modes{FecMode::kAuto});
  EXPECT_EQ(fec->active, FecMode::kOff);
  EXPECT_FALSE(fec->corrected_blocks || fec->uncorrectable_blocks || fec->corrected_bits);
}

TEST(FecText, HasCountersOfPortAndLanes) {
  const auto fec = fec_of(
      "FEC parameters for eth0:\nConfigured FEC encodings: None\nActive FEC encoding: None\nStatistics:\n"
      "  corrected_blocks: 256\n    Lane 0: 255\n    Lane 1: 1\n"
      "  uncorrectable_blocks: 145\n    Lane 0: 128\n    Lane 1: 17\n");
  ASSERT_TRUE(fec && fec->corrected_blocks && fec->uncorrectable_blocks);
  EXPECT_TRUE(fec->configured.empty());
  EXPECT_EQ(fec->active, FecMode::kNone);
  EXPECT_EQ(fec->corrected_blocks->total, 256U);
  EXPECT_EQ(fec->uncorrectable_blocks->lanes, (Lanes{128, 17}));
  EXPECT_FALSE(fec->corrected_bits);
}

TEST(FecText, OfIceAndOfLinux618) {
  const auto ice = fec_of(
      "FEC parameters for eth0:\nSupported/Configured FEC encodings: Auto RS BaseR\nActive FEC encoding: RS\n"
      "Statistics:\n  corrected_blocks: 12\n  uncorrectable_blocks: 0\n");
  ASSERT_TRUE(ice && ice->uncorrectable_blocks);
  EXPECT_EQ(ice->configured, (Modes{FecMode::kAuto, FecMode::kRs, FecMode::kBaseR}));
  EXPECT_EQ(ice->uncorrectable_blocks->total, 0U);
  const auto bins = fec_of(
      "FEC parameters for eth0:\nSupported/Configured FEC encodings: RS\nActive FEC encoding: RS\nStatistics:\n"
      "  corrected_blocks: 123\n  uncorrectable_blocks: 4\n"
      "  fec_symbol_err_0: 445 [ per_lane:  125, 120, 100, 100 ]\n  fec_symbol_err_1_to_3: 12\n");
  ASSERT_TRUE(bins && bins->uncorrectable_blocks);
  EXPECT_EQ(bins->uncorrectable_blocks->total, 4U);
  EXPECT_TRUE(bins->uncorrectable_blocks->lanes.empty());
}

TEST(FecText, ItsJsonHasTheSame) {
  const auto fec = fec_of(
      R"([ { "ifname": "eth0", "config": [ "Auto","RS" ], "active": [ "RS" ], "statistics": {
             "corrected_blocks": { "total": 256, "lanes": [ 255,1 ] },
             "uncorrectable_blocks": { "total": 145 },
             "hist": [ { "bin_low": 0, "bin_high": 0, "total": 445 } ] } } ])");
  ASSERT_TRUE(fec && fec->corrected_blocks && fec->uncorrectable_blocks);
  EXPECT_EQ(fec->active, FecMode::kRs);
  EXPECT_EQ(fec->corrected_blocks->lanes, (Lanes{255, 1}));
  EXPECT_EQ(fec->uncorrectable_blocks->total, 145U);
}

TEST(FecText, AnUnknownModeAndSeveralActiveOnesAreNoKnownMode) {
  EXPECT_EQ(fec_of("FEC parameters for eth0:\nActive FEC encoding: XRS\n")->active, FecMode::kOther);
  EXPECT_EQ(fec_of("FEC parameters for eth0:\nActive FEC encodings: RS BaseR\n")->active, FecMode::kOther);
}

TEST(FecText, AnInterfaceThatNothingListsIsLeftOut) {
  ReportTree report;
  add_ethtool_fec("FEC parameters for eth7:\nActive FEC encoding: RS\n", report);
  ASSERT_EQ(report.left_out().size(), 1U);
  EXPECT_NE(report.left_out().front().find("eth7"), std::string::npos);
  EXPECT_FALSE(report.has_call("fec eth7"));
}

TEST(FecText, ASessionNamesItsInterface) {
  Sent sent;
  sent.files["session.txt"] = {
      "root@gpu01:~# ip -d address\n1: lo: <LOOPBACK,UP> mtu 65536 state UNKNOWN\n    link/loopback 00:00:00:00:00:00\n"
      "2: ens6: <BROADCAST,UP> mtu 9000 state UP\n    link/ether 94:6d:ae:00:01:00 parentbus pci parentdev 0000:18:00.0\n"
      "root@gpu01:~# ethtool -I --show-fec ens6\nFEC parameters for ens6:\nSupported/Configured FEC encodings: Auto\n"
      "Active FEC encoding: RS\nStatistics:\n  corrected_blocks: 12\n  uncorrectable_blocks: 3\n",
      0};
  auto reports = reports_of(std::move(sent), "x");
  ASSERT_TRUE(reports) << reports.error().text;
  const auto answer = host_of(std::move(reports->nodes.front().tree))->call("fec ens6");
  ASSERT_TRUE(answer.ok()) << answer.miss().why;
  EXPECT_EQ(json::read<FecState>(*answer)->uncorrectable_blocks->total, 3U);
}

}  // namespace
}  // namespace railbed

// Recognises the outputs of ipmitool; bmc/ipmitool_text_test.cc reads them.
#include <gtest/gtest.h>

#include <string>

#include "host/support/pasted.h"
#include "host/support/support.h"
#include "host/support/texts.h"
#include "host/testing/report_host.h"

namespace railbed {
namespace {

TEST(IpmitoolKind, IsKnownByTheFirstLine) {
  EXPECT_EQ(ipmitool_kind("CPU1 Temp        | 45 degrees C      | ok\n"), "sdr");
  EXPECT_EQ(ipmitool_kind("CPU1 Temp        | 01h | ok  |  3.1 | 45 degrees C\n"), "sdr");
  EXPECT_EQ(ipmitool_kind("CPU1 Temp | 45.000 | degrees C | ok | na | 5.0 | na | 80.0 | 85.0 | 95.0 \n"),
            "sensor");
  EXPECT_EQ(ipmitool_kind("PSU1 | 0x0 | discrete | 0x0180| na | na | na | na | na | na\n"), "sensor");
  EXPECT_EQ(ipmitool_kind("  3d | 10/02/2025 | 17:33:30 | Memory DIMM A3 | Uncorrectable ECC | Asserted\n"),
            "sel list");
  EXPECT_EQ(
      ipmitool_kind("   1 |  Pre-Init  |0000000027| Power Supply #0xc8 | Failure detected | Asserted\n"),
      "sel list");
  EXPECT_EQ(ipmitool_kind("  2a | OEM record e0 | 0000a0d1\n"), "sel list");
  EXPECT_EQ(ipmitool_kind("SEL has no entries\n"), "sel list");
  EXPECT_EQ(ipmitool_kind("SEL Information\nVersion          : 1.5 (v1.5, v2 compliant)\n"), "sel info");
  EXPECT_EQ(ipmitool_kind("Set in Progress         : Set Complete\n"), "lan print");
  EXPECT_EQ(ipmitool_kind("FRU Device Description : Builtin FRU Device (ID 0)\n"), "fru print");
  EXPECT_EQ(
      ipmitool_kind(
          "Device ID                 : 32\nFirmware Revision         : 1.04\nIPMI Version              : 2.0\n"),
      "mc info");
}

TEST(IpmitoolKind, IsKnownInOtherVersionsAndLocales) {
  EXPECT_EQ(
      ipmitool_kind(
          " 448 | 09/17/2026 | 11:31:42 PM UTC | Temperature MB_Air_Inlet_T | Upper Critical going high | "
          "Asserted | Reading 50 > Threshold 50 degrees C\n"),
      "sel list");
  EXPECT_EQ(ipmitool_kind("fe3c | 04/10/2008 | 14:50:13 | Power Unit Power Redundancy | Fully Redundant\n"),
            "sel list");
  EXPECT_EQ(
      ipmitool_kind("1 | 17.09.2026 | 23:31:42 CEST | Fan FAN1 | Lower Critical going low | Asserted\n"),
      "sel list");
  EXPECT_EQ(ipmitool_kind("   9 | Linux kernel panic: Fatal excep\n"), "sel list");
  EXPECT_EQ(
      ipmitool_kind(
          "Get HPM.x Capabilities request failed, compcode = c9\nCPU1 Temp        | 01h | ok  |  3.1 | 45 "
          "degrees C\n"),
      "sdr");
  EXPECT_EQ(ipmitool_command("CPU1 Temp        | 01h | ok  |  3.1 | 45 degrees C\n"), "sdr elist");
  EXPECT_EQ(ipmitool_kind(
                "System Power         : on\nPower Overload       : false\nPower Restore Policy : previous\n"),
            "chassis status");
  EXPECT_EQ(ipmitool_kind(" Chassis Type          : Other\n Board Mfg             : Supermicro\n"),
            "fru print");
}

TEST(IpmitoolKind, OtherTablesAreNone) {
  for (const std::string text :
       {"", "\n\n", "id | name | value\n----+------+------\n 1 | a | b\n", "| GPU | Name | ok |\n",
        "a | b | c | d\n", "node17 | 8 GPUs | ok\n", "the nodes of rack 7 | checked | ok\n",
        "deadbeef1 | 10/02/2025 | 17:33:30 | x | y | Asserted\n",
        "2025 | 10-02-2025 | 1 | 2 | 3 | Asserted\n", "Device ID : 4\nrevision\n"})
    EXPECT_EQ(ipmitool_kind(text), "") << text;
}

TEST(IpmitoolText, ASessionKeepsItAndAnotherMachinesIsLeftOut) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {
      "root@gpu01:~# ipmitool sel info\nSEL Information\nVersion : 1.5\nEntries : 3\n"
      "root@gpu01:~# ipmitool -I lanplus -H 10.0.0.9 -U admin -P secret lan print\nSet in Progress : Set Complete\n",
      0};
  auto reports = reports_of(std::move(sent), "x.txt");
  ASSERT_TRUE(reports);
  const auto host = host_of(std::move(reports->nodes.front().tree));
  EXPECT_TRUE(host->run({"ipmitool", "sel", "info"}).ok());
  EXPECT_FALSE(host->run({"ipmitool", "lan", "print"}).ok());
  ASSERT_EQ(reports->unread.size(), 1U);
  EXPECT_EQ(reports->unread.front().why.find("secret"), std::string::npos);
}

TEST(IpmitoolText, PartsAreKeptAsPartsAndTogether) {
  Sent sent;
  sent.files[std::string(kSingleFile)] = {
      "root@gpu01:~# ipmitool sdr type Fan\nFAN1             | 41h | ok  | 29.1 | 5800 RPM\n"
      "root@gpu01:~# ipmitool sdr type Temperature\nCPU1 Temp        | 01h | ok  |  3.1 | 36 degrees C\n"
      "root@gpu01:~# ipmitool sel elist | tail -1\n   1 | 09/17/2026 | 11:31:42 | Fan FAN1 | Lower Critical going low | "
      "Asserted\n",
      0};
  auto reports = reports_of(std::move(sent), "x.txt");
  ASSERT_TRUE(reports);
  const auto host = host_of(std::move(reports->nodes.front().tree));
  EXPECT_FALSE(host->run({"ipmitool", "sdr"}).ok());
  const auto sensors = host->run({"ipmitool", "sdr", "(part)"});
  ASSERT_TRUE(sensors.ok());
  EXPECT_NE(sensors->output.find("FAN1"), std::string::npos);
  EXPECT_NE(sensors->output.find("CPU1 Temp"), std::string::npos);
  EXPECT_TRUE(host->run({"ipmitool", "sel", "list", "(part)"}).ok());
}

}  // namespace
}  // namespace railbed

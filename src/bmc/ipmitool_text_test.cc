// Outputs of ipmitool, composed by the sources in tests/SOURCES.md.
#include "bmc/ipmitool_text.h"

#include <gtest/gtest.h>

#include <string>

#include "bmc/freeipmi_text.h"

namespace railbed {
namespace {

constexpr const char* kSensors =
    "CPU1 Temp        | 45.000     | degrees C  | ok    | na        | 5.000     | na        | 80.000    | 85.000    | 95.000    \n"
    "FAN3             | 300.000    | RPM        | lcr   | 100.000   | 500.000   | 700.000   | na        | na        | na        \n"
    "P3V_BAT_SCALED   | na         |            | na    | 2.178     | 2.350     | na        | na        | 3.168     | na        \n"
    "PSU1_STATUS      | 0x0        | discrete   | 0x0180| na        | na        | na        | na        | na        | na        \n"
    "SEL_FULLNESS     | 100.000    | unspecified | cr    | na        | na        | na        | na        | 80.000    | na        \n";

constexpr const char* kSdr =
    "Inlet Temp       | 04h | ok  |  7.1 | 23 degrees C\n"
    "PS1 Status       | 61h | ok  | 10.1 | Presence detected, Power Supply AC lost\n"
    "PS2 Status       | 62h | ok  | 10.2 | Presence detected\n"
    "FAN4             | 44h | ns  | 29.4 | No Reading\n"
    "12V              | 30h | nc  |  7.1 | 10.90 Volts\n";

constexpr const char* kEvents =
    "   1 |  Pre-Init  |0000000027| Power Supply #0xc8 | Failure detected | Asserted\n"
    "   2 | 09/28/2026 | 14:23:05 | Memory #0x02 | Correctable ECC | Asserted\n"
    "   3 | 09/28/26 | 14:23:09 UTC | Memory DIMM A3 | Uncorrectable ECC | Asserted\n"
    "   4 | 10/02/2025 | 22:07:09 | Temperature Inlet Temp | Upper Non-critical going high | Deasserted | Reading 28 > "
    "Threshold 28 degrees C\n"
    "  2a | OEM record e0 | 0000a0d1\n"
    "  2b | 12/01/2025 | 10:00:00 | OEM record c1 | 0002a2 | 010203\n"
    "  5c | 03/18/2025 | 02:25:13 | OS Critical Stop #0x4f | Run-time critical stop | Asserted\n"
    "  5d | 03/18/2025 | 02:26:13 | System Event #0xff | Timestamp Clock Sync | Asserted\n";

std::string lan(const std::string& suites, const std::string& privileges) {
  return "Set in Progress         : Set Complete\nAuth Type Support       : NONE MD5 PASSWORD \n"
         "IP Address Source       : Static Address\nIP Address              : 10.0.0.9\n"
         "SNMP Community String   : public\n" +
         (suites.empty() ? "" : "RMCP+ Cipher Suites     : " + suites + "\n") +
         (privileges.empty() ? "" : "Cipher Suite Priv Max   : " + privileges + "\n") +
         "                        :     X=Cipher Suite Unused\n                        :     a=ADMIN\n";
}

CipherPrivilege zero_of(const std::string& suites, const std::string& privileges) {
  const std::string text = lan(suites, privileges);
  const auto facts = parse_ipmitool({.lan = text});
  return facts && facts->lan.ok() ? facts->lan->cipher_zero : CipherPrivilege::kUnknown;
}

TEST(IpmitoolText, ReadsSensorsWithTheirThresholds) {
  const auto facts = parse_ipmitool({.sensor = kSensors});
  ASSERT_TRUE(facts && facts->sensors.ok());
  const auto& sensors = *facts->sensors;
  ASSERT_EQ(sensors.size(), 5U);
  EXPECT_EQ(sensors[0].severity, BmcSeverity::kNominal);
  EXPECT_EQ(sensors[0].reading, 45.0);
  EXPECT_EQ(sensors[0].units, "degrees C");
  EXPECT_EQ(sensors[0].upper_critical, 85.0);
  EXPECT_EQ(sensors[1].severity, BmcSeverity::kCritical);
  EXPECT_EQ(sensors[1].lower_critical, 500.0);
  EXPECT_EQ(sensors[2].severity, BmcSeverity::kUnknown);
  EXPECT_EQ(sensors[3].severity, BmcSeverity::kUnknown) << "a mask of states without their meaning";
  EXPECT_EQ(sensors[4].severity, BmcSeverity::kCritical);
}

TEST(IpmitoolText, TheTextOfADiscreteSensorCounts) {
  const auto facts = parse_ipmitool({.sdr = kSdr});
  ASSERT_TRUE(facts && facts->sensors.ok());
  const auto& sensors = *facts->sensors;
  ASSERT_EQ(sensors.size(), 5U);
  EXPECT_EQ(sensors[0].severity, BmcSeverity::kNominal);
  EXPECT_EQ(sensors[1].severity, BmcSeverity::kCritical) << "ipmitool calls every discrete sensor ok";
  EXPECT_NE(sensors[2].severity, BmcSeverity::kCritical);
  EXPECT_EQ(sensors[3].severity, BmcSeverity::kUnknown);
  EXPECT_EQ(sensors[4].severity, BmcSeverity::kWarning);
  EXPECT_EQ(sensors[4].units, "Volts");
}

TEST(IpmitoolText, ReadsEventsOfAllForms) {
  const auto facts = parse_ipmitool({.events = kEvents});
  ASSERT_TRUE(facts && facts->events.ok());
  const auto& events = *facts->events;
  ASSERT_EQ(events.size(), 8U);
  EXPECT_EQ(events[0].time, "");
  EXPECT_EQ(events[0].severity, BmcSeverity::kCritical);
  EXPECT_EQ(events[1].severity, BmcSeverity::kWarning);
  EXPECT_EQ(events[2].type, "Memory");
  EXPECT_EQ(events[2].sensor, "DIMM A3");
  EXPECT_EQ(events[2].time, "2026-09-28 14:23:09");
  EXPECT_EQ(events[2].severity, BmcSeverity::kCritical);
  EXPECT_EQ(events[3].severity, BmcSeverity::kNominal) << "deasserted";
  EXPECT_EQ(events[4].id, 0x2aU);
  EXPECT_EQ(events[4].severity, BmcSeverity::kUnknown);
  EXPECT_EQ(events[5].time, "2025-12-01 10:00:00");
  EXPECT_EQ(events[6].severity, BmcSeverity::kCritical);
  EXPECT_EQ(events[7].severity, BmcSeverity::kUnknown);
}

TEST(IpmitoolText, DatesAreThoseOfTheCallersLocale) {
  const auto first_time = [](const std::string& text) {
    const auto facts = parse_ipmitool({.events = text});
    return facts && facts->events.ok() ? facts->events->front().time : "none";
  };
  const std::string rest = " | Fan FAN1 | Lower Critical going low | Asserted\n";
  EXPECT_EQ(first_time("1 | 09/17/2026 | 11:31:42 PM UTC" + rest), "2026-09-17 23:31:42");
  EXPECT_EQ(first_time("1 | 02/04/2026 | 12:28:24 PM -03" + rest), "2026-02-04 12:28:24");
  EXPECT_EQ(first_time("1 | 02/04/2026 | 12:28:24 AM EST" + rest), "2026-02-04 00:28:24");
  EXPECT_EQ(first_time("1 | 04.02.2026 | 12:28:24 CET" + rest), "2026-02-04 12:28:24");
  EXPECT_EQ(first_time("1 | 2026-02-04 | 12:28:24 CET" + rest), "2026-02-04 12:28:24");
  EXPECT_EQ(first_time("1 | 04/02/26 | 12:28:24 GMT" + rest + "2 | 17/02/26 | 12:28:24 GMT" + rest),
            "2026-02-04 12:28:24")
      << "the second row shows that the day is first";
  EXPECT_EQ(first_time("1 | 09/17/2026 | 25:31:42" + rest), "");
  EXPECT_EQ(first_time("1 | 09/17/2026 | 13:31:42 PM UTC" + rest), "");
}

TEST(IpmitoolText, ReadsRowsOfOldVersionsAndOfMakers) {
  const auto facts = parse_ipmitool(
      {.events =
           "  34 | 02/25/2025 | 04:50:09 PM EST | Memory #0x02 | Uncorrectable ECC (UnCorrectable ECC |  DIMMD7) | "
           "Asserted\n"
           " 2b6 | 07/07/2015 | 08:33:23 | Critical Interrupt PCIe Cor Sensor |  | Asserted\n"
           "fe3c | 04/10/2008 | 14:50:13 | Power Unit Power Redundancy | Fully Redundant\n"
           "fe3d | 04/10/2008 | 14:51:13 | Power Supply PS 1 | Power Supply AC lost\n"
           "   9 | Linux kernel panic: Fatal excep\n"
           "16c0 | 12/18/20 | 12:04:57 UTC | Temperature SCM_TEMP | Lower Critical going low  | Asserted | Reading "
           "252 < Threshold 0 degrees C\n"});
  ASSERT_TRUE(facts && facts->events.ok());
  const auto& events = *facts->events;
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0].severity, BmcSeverity::kCritical);
  EXPECT_EQ(events[0].event, "Uncorrectable ECC (UnCorrectable ECC DIMMD7)") << "with the module's name";
  EXPECT_EQ(events[1].sensor, "PCIe Cor Sensor");
  EXPECT_EQ(events[2].severity, BmcSeverity::kNominal);
  EXPECT_EQ(events[3].severity, BmcSeverity::kUnknown) << "without a direction it may have come back";
  EXPECT_EQ(events[4].event, "panic: Fatal excep");
  EXPECT_EQ(events[4].severity, BmcSeverity::kCritical);
  EXPECT_EQ(events[5].event, "Lower Critical going low, Reading 252 < Threshold 0 degrees C");
}

TEST(IpmitoolText, APartWithoutAFaultSaysNothingOfTheRest) {
  EXPECT_FALSE(
      parse_ipmitool({.sdr = "FAN1 | 41h | ok | 29.1 | 5800 RPM\n", .sensors_in_part = true})->sensors.ok());
  EXPECT_TRUE(
      parse_ipmitool({.sdr = "FAN1 | 41h | cr | 29.1 | 0 RPM\n", .sensors_in_part = true})->sensors.ok());
  const std::string row = "1 | 09/17/2026 | 11:31:42 | Fan FAN1 | Lower Critical going low | ";
  EXPECT_FALSE(parse_ipmitool({.events = row + "Deasserted\n", .events_in_part = true})->events.ok());
}

TEST(IpmitoolText, StatesOfSdrJoinTheTableOfSensor) {
  const auto facts = parse_ipmitool(
      {.sensor = "Temp | 25.000 | degrees C | ok | na | na | na | na | 90.000 | na\n"
                 "Status | 0x0 | discrete | 0x0180| na | na | na | na | na | na\n"
                 "Status | 0x0 | discrete | 0x0980| na | na | na | na | na | na\n",
       .sdr = "Temp | 0Eh | ok  |  3.1 | 26 degrees C\nStatus | 85h | ok  | 10.1 | Presence detected\n"
              "Status | 86h | ok  | 10.2 | Presence detected, Power Supply AC lost\n"});
  ASSERT_TRUE(facts && facts->sensors.ok());
  ASSERT_EQ(facts->sensors->size(), 3U);
  EXPECT_EQ(facts->sensors->at(0).reading, 25.0);
  EXPECT_EQ(facts->sensors->at(1).severity, BmcSeverity::kUnknown);
  EXPECT_EQ(facts->sensors->at(2).severity, BmcSeverity::kCritical);
}

TEST(IpmitoolText, ReadsTheChassis) {
  const std::string text =
      "System Power         : off\nPower Overload       : false\nMain Power Fault     : true\n"
      "Power Restore Policy : always-off\nDrive Fault          : false\n";
  const auto facts = parse_ipmitool({.chassis = text});
  ASSERT_TRUE(facts && facts->power.ok() && facts->sensors.ok());
  EXPECT_EQ(*facts->power, PowerState::kOff);
  ASSERT_EQ(facts->sensors->size(), 1U);
  EXPECT_EQ(facts->sensors->front().name, "Main Power Fault");
  EXPECT_FALSE(parse_ipmitool({.chassis = "Power Overload : false\n"})->power.ok());
  EXPECT_FALSE(parse_ipmitool({.chassis = "System Power : on\n"})->sensors.ok())
      << "no fault is no list of sensors";
}

TEST(IpmitoolText, AnEmptyLogIsAValueAndAnEmptyOutputIsNot) {
  EXPECT_TRUE(parse_ipmitool({.events = "SEL has no entries\n"})->events.ok());
  EXPECT_FALSE(parse_ipmitool({.events = ""})->events.ok());
  EXPECT_FALSE(parse_ipmitool({.sensor = "\n"})->sensors.ok());
  EXPECT_FALSE(parse_ipmitool({.log = "SEL Information\nVersion          : 1.5\n"})->log.ok()) << "cut off";
  EXPECT_FALSE(parse_ipmitool({.lan = "Set in Progress         : Set Complete\n"})->lan.ok());
  EXPECT_FALSE(parse_ipmitool({}).has_value());
}

TEST(IpmitoolText, ReadsTheStateOfTheLog) {
  const auto full =
      parse_ipmitool({.log = "SEL Information\nVersion          : 1.5 (v1.5, v2 compliant)\n"
                             "Entries          : 3008\nFree Space       : 0 bytes \nPercent Used     : 100%\n"
                             "Last Add Time    : 02/03/2014 06:32:52\nOverflow         : true\n"});
  ASSERT_TRUE(full && full->log.ok());
  EXPECT_EQ(full->log->entries, 3008);
  EXPECT_EQ(full->log->free_bytes, 0);
  EXPECT_EQ(full->log->percent_used, 100);
  EXPECT_TRUE(full->log->overflow);
  const auto unknown = parse_ipmitool(
      {.log =
           "Version : 2\nEntries : 5\nFree Space : 65535 bytes or more\nPercent Used : unknown\nOverflow : false\n"});
  EXPECT_EQ(unknown->log->percent_used, std::nullopt);
  EXPECT_EQ(unknown->log->free_bytes, 65535);
}

TEST(IpmitoolText, CipherSuiteZeroIsFoundByTheListOfSuites) {
  EXPECT_EQ(zero_of("0,1,2,3,17", "XuuaXXXXXXXXXXX"), CipherPrivilege::kUnused);
  EXPECT_EQ(zero_of("0,1,2,3", "OOOOXXXXXXXXXXX"), CipherPrivilege::kOem);
  EXPECT_EQ(zero_of("0,1,2,3,6,7,8,11,12", "caaaaaaaaXXXXXX"), CipherPrivilege::kCallback);
  EXPECT_EQ(zero_of("1,2,3,4", "aaaaaaaaaaaaaaa"), CipherPrivilege::kUnused)
      << "the first letter is that of suite 1";
  EXPECT_EQ(zero_of("1,2,3,6,7,8,11,12,0", "aaaaXXaaaXXaaXX"), CipherPrivilege::kAdministrator)
      << "both ways";
  EXPECT_EQ(zero_of("1,2,3,6,7,8,11,12,0", "XaaaXXaaaXXaaXX"), CipherPrivilege::kUnknown)
      << "by its place in the list allowed, by its number not";
  EXPECT_EQ(zero_of("3,17,0", "XXaXXXXXXXXXXXX"), CipherPrivilege::kUnknown);
  EXPECT_EQ(zero_of("", "aaaaaaaaaaaaaaa"), CipherPrivilege::kUnknown)
      << "nothing shows whose letters these are";
  EXPECT_EQ(zero_of("0,1", ""), CipherPrivilege::kUnknown);
  EXPECT_EQ(zero_of("0,1", "?a"), CipherPrivilege::kUnknown);
  EXPECT_EQ(zero_of("3,0", "Not Available"), CipherPrivilege::kUnknown) << "an o, but no privilege";
}

TEST(IpmitoolText, HostileTextsStayWithinBounds) {
  std::string rows;
  for (int i = 0; i < 20000; ++i) rows += "T" + std::to_string(i) + " | 45 degrees C | ok\n";
  EXPECT_EQ(parse_ipmitool({.sdr = rows})->sensors->size(), kMaxBmcSensors);
  std::string events;
  for (int i = 0; i < 70000; ++i)
    events += "1 | 09/28/2026 | 14:23:05 | Memory #0x02 | Correctable ECC | Asserted\n";
  EXPECT_EQ(parse_ipmitool({.events = events})->events->size(), kMaxBmcEvents);
  const std::string pipes(1 << 20, '|'), letters(1 << 20, 'a');
  for (const std::string& text : {pipes, letters, letters + "|" + letters + "|ok"}) {
    EXPECT_FALSE(parse_ipmitool({.sensor = text})->sensors.ok());
    EXPECT_FALSE(parse_ipmitool({.events = text})->events.ok());
    EXPECT_FALSE(parse_ipmitool({.lan = text})->lan.ok());
  }
  const auto shown = parse_ipmitool({.sdr = "CPU\x1b[31m | 45 degrees\x07 C | ok\n"});
  EXPECT_EQ(shown->sensors->at(0).name.find('\x1b'), std::string::npos);
  EXPECT_EQ(shown->sensors->at(0).units.find('\x07'), std::string::npos);
  const auto far = parse_ipmitool({.log = "Entries : 99999999999999\nPercent Used : 7%\nOverflow : false\n"});
  EXPECT_FALSE(far->log.ok()) << "no number of entries";
}

TEST(IpmitoolText, ReadsTheController) {
  const auto facts = parse_ipmitool(
      {.inventory = "FRU Device Description : Builtin FRU Device (ID 0)\n Product Manufacturer  : Dell Inc.\n"
                    " Product Name          : PowerEdge XE9680\n Product Serial        : ABC1234\n",
       .controller =
           "Device ID                 : 32\nFirmware Revision         : 7.10\nManufacturer Name         : DELL Inc\n"});
  ASSERT_TRUE(facts && facts->device.ok());
  EXPECT_EQ(facts->device->firmware, "7.10");
  EXPECT_EQ(facts->device->manufacturer, "DELL Inc");
  EXPECT_EQ(facts->device->product, "PowerEdge XE9680");
}

TEST(IpmitoolText, APowerSupplyIsNotTheProduct) {
  const auto device = [](const char* inventory, const char* controller) {
    const auto facts = parse_ipmitool({.inventory = inventory, .controller = controller});
    return facts->device.ok() ? *facts->device : BmcDevice{};
  };
  constexpr const char* kUnnamed =
      "Device ID                 : 32\nFirmware Revision         : 1.11\nManufacturer Name         : Unknown\n"
      "Product Name              : Unknown (0x202)\n";
  const auto board = device(
      "FRU Device Description : PSU1 (ID 5)\n Product Manufacturer  : DELTA\n Product Name          : DPS-2000\n\n"
      "FRU Device Description : Builtin FRU Device (ID 0)\n Board Mfg             : Supermicro\n"
      " Board Product         : X11DSC+\n Product Name          :\n",
      kUnnamed);
  EXPECT_EQ(board.product, "X11DSC+");
  EXPECT_EQ(board.manufacturer, "Supermicro") << "the BMC's own is called Unknown";
  const auto none = device(
      "FRU Device Description : Builtin FRU Device (ID 0)\n Device not present (Requested sensor, data, or record not "
      "found)\n\nFRU Device Description : dimm0 (ID 4)\n Product Manufacturer  : Micron\n Product Name          : 32GB\n",
      kUnnamed);
  EXPECT_EQ(none.product, "");
  EXPECT_EQ(none.manufacturer, "");
  EXPECT_EQ(none.firmware, "1.11");
  EXPECT_EQ(
      device(" Board Mfg             : DELL\n Board Product         : PowerEdge R730\n", kUnnamed).product,
      "PowerEdge R730")
      << "fru print 0";
}

}  // namespace
}  // namespace railbed

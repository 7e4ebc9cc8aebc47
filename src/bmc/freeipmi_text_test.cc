#include "bmc/freeipmi_text.h"

#include <gtest/gtest.h>

#include "base/moment.h"

namespace railbed {
namespace {

// Texts as FreeIPMI 1.6.10 printed them of OpenIPMI's simulator, names changed where the test is about names.

TEST(FreeipmiText, TellsPower) {
  EXPECT_EQ(parse_power("127.0.1.1: on\n"), PowerState::kOn);
  EXPECT_EQ(parse_power("127.0.1.1: off\n"), PowerState::kOff);
  EXPECT_EQ(parse_power("127.0.1.1: connection timeout\n"), std::nullopt);
  EXPECT_EQ(parse_power(""), std::nullopt);
}

TEST(FreeipmiText, ReadsSensors) {
  const auto sensors = parse_sensors(
      "2,CPU1 Temp,Temperature,Critical,90.00,C,N/A,N/A,N/A,80.00,85.00,95.00,'At or Above (>=) Upper Critical Threshold'\n"
      "6,FAN1,Fan,Nominal,9000.00,RPM,N/A,500.00,N/A,18000.00,18750.00,19125.00,'OK'\n"
      "8,PSU1,Power Supply,Critical,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,'Presence detected' 'Power Supply Failure detected'\n"
      "9,Slot 3, riser,Slot/Connector,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n");
  ASSERT_EQ(sensors.size(), 4u);
  EXPECT_EQ(sensors[0].name, "CPU1 Temp");
  EXPECT_EQ(sensors[0].severity, BmcSeverity::kCritical);
  EXPECT_EQ(sensors[0].reading, 90.0);
  EXPECT_EQ(sensors[0].units, "C");
  EXPECT_EQ(sensors[0].upper_critical, 85.0);
  EXPECT_EQ(sensors[0].lower_critical, std::nullopt);
  EXPECT_EQ(sensors[0].state, "At or Above (>=) Upper Critical Threshold");
  EXPECT_EQ(sensors[1].lower_critical, 500.0);
  EXPECT_EQ(sensors[2].reading, std::nullopt);
  EXPECT_EQ(sensors[2].state, "Presence detected, Power Supply Failure detected");
  EXPECT_EQ(sensors[3].severity, BmcSeverity::kUnknown);
}

TEST(FreeipmiText, ANameWithCommasShiftsNothing) {
  const auto sensors =
      parse_sensors("3,GPU 1,2 and 3,Temperature,Nominal,62.00,C,N/A,N/A,N/A,85.00,90.00,95.00,'OK'\n");
  ASSERT_EQ(sensors.size(), 1u);
  EXPECT_EQ(sensors[0].name, "GPU 1,2 and 3");
  EXPECT_EQ(sensors[0].reading, 62.0);
}

TEST(FreeipmiText, ReadsEvents) {
  const auto events = parse_events(
      "2,PostInit,PostInit,CPU1 Temp,Temperature,Critical,Upper Critical - going high ; Sensor Reading = 90.00 C\n"
      "4,Nov-23-2026,20:12:03,Sensor #83,Memory,Critical,Uncorrectable memory error ; OEM Event Data3 code = 03h\n"
      "7,Nov-23-2026,20:12:03,N/A,N/A,N/A,OEM defined = 08h 09h, 0Ah\n"
      "this is no event\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].time, "");
  EXPECT_EQ(events[0].severity, BmcSeverity::kCritical);
  EXPECT_EQ(events[1].id, 4u);
  EXPECT_EQ(events[1].time, "2026-11-23 20:12:03");
  EXPECT_EQ(events[1].sensor, "Sensor #83");
  EXPECT_EQ(events[1].type, "Memory");
  EXPECT_EQ(events[1].event, "Uncorrectable memory error ; OEM Event Data3 code = 03h");
}

TEST(FreeipmiText, WhatABmcCallsItselfReachesNoTerminal) {
  const auto events = parse_events("1,Nov-23-2026,20:12:03,\x1b[2JPSU,Power Supply,Critical,\x07gone\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].sensor.find('\x1b'), std::string::npos);
  EXPECT_EQ(events[0].event.find('\x07'), std::string::npos);
}

// ipmi-sel and ipmi-config 1.6.11 at a simulated BMC.
TEST(FreeipmiText, ReadsTheRoomOfTheLog) {
  const std::string info =
      "SEL version                            : 1.5\nNumber of log entries                  : 512\n"
      "Free space remaining                   : 0 bytes\nRecent addition timestamp              : Post-Init 0 s\n"
      "Delete SEL Command                     : supported\nEvents dropped due to lack of space    : Yes\n";
  const auto log = parse_log(info);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->entries, 512);
  EXPECT_EQ(log->free_bytes, 0);
  EXPECT_TRUE(log->overflow);
  EXPECT_FALSE(parse_log("Number of log entries                  : 512\n"));
  EXPECT_FALSE(parse_log("Number of log entries : -1\nFree space remaining : 16000 bytes\n"));
}

TEST(FreeipmiText, ReadsWhatCipherSuiteZeroAllows) {
  const std::string others =
      "Section Rmcpplus_Conf_Privilege\n\t## Possible values: Unused/User/Operator/Administrator/OEM_Proprietary\n"
      "\tMaximum_Privilege_Cipher_Suite_Id_1           Administrator\n"
      "\tMaximum_Privilege_Cipher_Suite_Id_10          Administrator\nEndSection\n";
  const auto zero = [&](const std::string& privilege) {
    return parse_lan("\tMaximum_Privilege_Cipher_Suite_Id_0           " + privilege + "\n" + others)
        ->cipher_zero;
  };
  EXPECT_EQ(zero("Administrator"), CipherPrivilege::kAdministrator);
  EXPECT_EQ(zero("Unused"), CipherPrivilege::kUnused);
  EXPECT_EQ(zero("Nonsense"), CipherPrivilege::kUnknown);
  EXPECT_EQ(parse_lan(others)->cipher_zero, CipherPrivilege::kUnused) << "the BMC does not have it";
  EXPECT_FALSE(parse_lan("Section Rmcpplus_Conf_Privilege\nEndSection\n"));
}

TEST(FreeipmiText, ReadsDeviceClockAndSerial) {
  const auto device = parse_device(
      "Device ID             : 32\nFirmware Revision     : 3.15\nManufacturer ID       : Super Micro Computer Inc. (10876)\n");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->firmware, "3.15");
  EXPECT_EQ(device->manufacturer, "Super Micro Computer Inc. (10876)");
  EXPECT_EQ(parse_device("Device ID : 32\n"), std::nullopt);

  const auto time = parse_sel_time("SEL Time : 11/23/2026 - 20:12:03\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(utc_text(*time), "2026-11-23T20:12:03Z");
  EXPECT_EQ(parse_sel_time("SEL Time : Post-Init 15171 s\n"), std::nullopt);
  EXPECT_EQ(parse_sel_time("SEL Time : 99/99/2026 - 20:12:03\n"), std::nullopt);

  const auto serial =
      parse_serial("Section SOL_Conf\n\tEnable_SOL   Yes\n\tVolatile_Bit_Rate  115200\nEndSection\n");
  ASSERT_TRUE(serial);
  EXPECT_TRUE(serial->enabled);
  EXPECT_EQ(serial->rate, 115200);
  EXPECT_EQ(parse_serial("\tEnable_SOL No\n\tVolatile_Bit_Rate Serial\n")->rate, std::nullopt);
  EXPECT_EQ(parse_serial("EndSection\n"), std::nullopt);
}

TEST(FreeipmiText, FindsTheUser) {
  constexpr std::string_view kUsers =
      "Section User1\n\tUsername NULL\nEndSection\nSection User2\n\t## Give Username\n\tUsername   admin\nEndSection\n";
  EXPECT_EQ(find_user_section(kUsers, "admin"), "User2");
  EXPECT_EQ(find_user_section(kUsers, "root"), std::nullopt);
}

TEST(FreeipmiText, SaysWhy) {
  EXPECT_EQ(why_refused("connection timeout").missing, Missing::kTimeout);
  EXPECT_EQ(why_refused("ipmi_ctx_open_outofband_2_0: password invalid").missing, Missing::kDenied);
  EXPECT_EQ(why_refused("session timeout").why, "its BMC stopped answering");
  EXPECT_TRUE(may_be_the_cipher("BMC error"));
  EXPECT_FALSE(may_be_the_cipher("password invalid"));
}

TEST(FreeipmiText, QuotesWhatAConfigurationWouldTakeForItsOwn) {
  EXPECT_EQ(in_configuration("s3cret"), "\"s3cret\"");
  EXPECT_EQ(in_configuration("a#b\"c\\d e"), "\"a\\#b\\\"c\\\\d e\"");
}

}  // namespace
}  // namespace railbed

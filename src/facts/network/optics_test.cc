#include "facts/network/optics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// SFF-8636, ethtool 5.16 and later; four lanes. tests/SOURCES.md names the outputs from which these are composed.
constexpr std::string_view kQsfp =
    "\tIdentifier                                : 0x11 (QSFP28)\n"
    "\tVendor name                               : FS\n"
    "\tVendor SN                                 : F2030400001    \n"
    "\tModule temperature                        : 45.22 degrees C / 113.39 degrees F\n"
    "\tModule voltage                            : 3.3359 V\n"
    "\tAlarm/warning flags implemented           : Yes\n"
    "\tLaser tx bias current (Channel 1)         : 8.162 mA\n"
    "\tLaser tx bias current (Channel 2)         : 7.560 mA\n"
    "\tTransmit avg optical power (Channel 1)    : 1.0391 mW / 0.17 dBm\n"
    "\tTransmit avg optical power (Channel 2)    : 1.0704 mW / 0.30 dBm\n"
    "\tRcvr signal avg optical power(Channel 1)  : 0.9603 mW / -0.18 dBm\n"
    "\tRcvr signal avg optical power(Channel 2)  : 0.0000 mW / -inf dBm\n"
    "\tLaser bias current high alarm   (Chan 1)  : Off\n"
    "\tLaser rx power low alarm        (Chan 2)  : On\n"
    "\tLaser bias current high alarm threshold   : 15.000 mA\n"
    "\tLaser bias current low alarm threshold    : 0.000 mA\n"
    "\tLaser output power low warning threshold  : 0.2239 mW / -6.50 dBm\n"
    "\tLaser rx power high alarm threshold       : 3.4674 mW / 5.40 dBm\n"
    "\tLaser rx power low alarm threshold        : 0.0467 mW / -13.31 dBm\n"
    "\tLaser rx power high warning threshold     : 1.7378 mW / 2.40 dBm\n"
    "\tLaser rx power low warning threshold      : 0.0933 mW / -10.30 dBm\n";

TEST(Optics, ReadsLanesAndLimitsOfAQsfp) {
  const Optics optics = parse_optics(kQsfp);
  EXPECT_EQ(optics.serial, "F2030400001");
  EXPECT_EQ(optics.celsius, 45.22);
  EXPECT_EQ(optics.volts, 3.3359);
  ASSERT_THAT(optics.lanes, SizeIs(2));
  EXPECT_EQ(optics.lanes[0].number, 1);
  EXPECT_EQ(optics.lanes[0].receive, 0.9603);
  EXPECT_EQ(optics.lanes[0].send, 1.0391);
  EXPECT_EQ(optics.lanes[0].bias, 8.162);
  EXPECT_EQ(optics.lanes[1].receive, 0.0) << "no light is a value";
  EXPECT_EQ(optics.receive.low_alarm, 0.0467);
  EXPECT_EQ(optics.receive.low_warning, 0.0933);
  EXPECT_EQ(optics.receive.high_warning, 1.7378);
  EXPECT_EQ(optics.send.low_warning, 0.2239);
  EXPECT_EQ(optics.bias.high_alarm, 15.0);
  EXPECT_EQ(optics.bias.low_alarm, std::nullopt) << "0 is no limit";
  EXPECT_EQ(optics.alarms, (std::vector<std::string>{"Laser rx power low alarm        (Chan 2)"}));
}

TEST(Optics, ReadsTheOneLaneOfAnSfp) {
  const Optics optics = parse_optics(
      "\tIdentifier                                : 0x03 (SFP)\n"
      "\tLaser bias current                        : 35.212 mA\n"
      "\tLaser output power                        : 0.5793 mW / -2.37 dBm\n"
      "\tReceiver signal average optical power     : 0.5529 mW / -2.57 dBm\n"
      "\tLaser bias current high alarm             : Off\n"
      "\tLaser output power high alarm             : Off\n"
      "\tLaser bias current high warning threshold : 70.000 mA\n"
      "\tLaser output power low alarm threshold    : 0.0794 mW / -11.00 dBm\n"
      "\tLaser rx power low alarm threshold        : 0.0100 mW / -20.00 dBm\n");
  ASSERT_THAT(optics.lanes, SizeIs(1));
  EXPECT_EQ(optics.lanes[0].bias, 35.212);
  EXPECT_EQ(optics.lanes[0].send, 0.5793);
  EXPECT_EQ(optics.lanes[0].receive, 0.5529);
  EXPECT_EQ(optics.bias.high_warning, 70.0);
  EXPECT_EQ(optics.send.low_alarm, 0.0794);
  EXPECT_EQ(optics.receive.low_alarm, 0.01);
}

TEST(Optics, ReadsCmisWithEightLanesAndOldEthtoolThatCountsFromZero) {
  std::string cmis =
      "\tIdentifier                                : 0x18 (QSFP-DD Double Density 8X Pluggable Transceiver (INF-8628))\n";
  for (int lane = 1; lane <= 8; ++lane)
    cmis +=
        "\tRcvr signal avg optical power (Channel " + std::to_string(lane) + ") : 0.8000 mW / -0.97 dBm\n";
  EXPECT_THAT(parse_optics(cmis).lanes, SizeIs(8));
  const Optics old = parse_optics(
      "\tLaser tx bias current (Channel 0)         : 6.600 mA\n"
      "\tRcvr signal avg optical power(Channel 0)  : 0.9522 mW / -0.21 dBm\n"
      "\tRcvr signal avg optical power(Channel 3)  : 0.9042 mW / -0.44 dBm\n");
  ASSERT_THAT(old.lanes, SizeIs(2));
  EXPECT_EQ(old.lanes[0].number, 0);
  EXPECT_EQ(old.lanes[1].number, 3);
}

TEST(Optics, CopperHasNoLanesAndHostileTextIsBounded) {
  EXPECT_THAT(parse_optics("\tIdentifier : 0x11 (QSFP28)\n\tVendor SN : MT1834VS07465\n").lanes, IsEmpty());
  std::string hostile;
  for (int i = 0; i < 5000; ++i)
    hostile += "Laser tx bias current (Channel " + std::to_string(i) + ") : 1 mA\n";
  hostile += "Laser tx bias current (Channel -1) : 1 mA\nLaser tx bias current (Channel x) : 1 mA\n";
  hostile +=
      "Laser rx power low alarm threshold : nan mW\nLaser output power : inf mW\nModule voltage : 1e999 V\n";
  hostile += "Vendor SN : " + std::string(10'000, 'x') + "\n";
  const Optics optics = parse_optics(hostile);
  EXPECT_LE(optics.lanes.size(), kMostLanes);
  EXPECT_EQ(optics.receive.low_alarm, std::nullopt);
  EXPECT_EQ(optics.volts, std::nullopt);
  EXPECT_LE(optics.serial.size(), 64U);
}

}  // namespace
}  // namespace railbed

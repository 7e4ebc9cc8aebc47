#include "results/measurement.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// 100 Gb/s of wire, of which the measurement has 60, for ten seconds.
Measurement beside_traffic(double sent_gigabits, double received_gigabits = 0) {
  Measurement measurement;
  measurement.from.node = "gpu01";
  measurement.from.interface = "ens6";
  measurement.to.node = "gpu02";
  measurement.summary.samples = 30;
  measurement.summary.median = 60e9;
  measurement.ceiling.limits = {{"PCIe", BitRate::gigabits(90), ""},
                                {"wire, 100 Gb/s at MTU 4096", BitRate::gigabits(100), ""}};
  const auto bytes = [](double gigabits) { return static_cast<std::uint64_t>(gigabits * 10e9 / 8); };
  measurement.from.other_traffic = OtherTraffic{10, bytes(sent_gigabits), bytes(received_gigabits), {}};
  return measurement;
}

TEST(OtherTraffic, IsToldFromOneHundredthOfTheLinkOn) {
  EXPECT_EQ(traffic_text(beside_traffic(12)),
            "14.0 GiB of other traffic, 12 % of the link, crossed gpu01 ens6 meanwhile");
  EXPECT_EQ(traffic_text(beside_traffic(0, 12)), traffic_text(beside_traffic(12)));
  EXPECT_EQ(traffic_text(beside_traffic(0.9)), "");
  EXPECT_EQ(traffic_text(Measurement{}), "") << "nobody looked";
}

TEST(OtherTraffic, OfALinkThatStatesNoSpeedIsHeldAgainstTheMeasurement) {
  Measurement measurement = beside_traffic(0.7);
  measurement.ceiling.nominal = true;
  EXPECT_EQ(traffic_text(measurement), "834.5 MiB of other traffic, 700 Mb/s, crossed gpu01 ens6 meanwhile");
  measurement.from.other_traffic->link = BitRate::gigabits(100);
  EXPECT_EQ(traffic_text(measurement), "") << "its own interface states one";
}

TEST(OtherTraffic, ExplainsNoMoreThanItTook) {
  EXPECT_TRUE(may_lack_for_traffic(beside_traffic(30), BitRate::gigabits(90)));
  EXPECT_FALSE(may_lack_for_traffic(beside_traffic(29), BitRate::gigabits(90)));
  EXPECT_FALSE(may_lack_for_traffic(beside_traffic(0, 30), BitRate::gigabits(90))) << "the other way";
  EXPECT_FALSE(may_lack_for_traffic(beside_traffic(0.9), BitRate::gigabits(60))) << "too little to tell";
  Measurement duplex = beside_traffic(15, 15);
  EXPECT_FALSE(may_lack_for_traffic(duplex, BitRate::gigabits(90)));
  duplex.operation = "write duplex";
  EXPECT_TRUE(may_lack_for_traffic(duplex, BitRate::gigabits(90)));
}

TEST(OtherTraffic, DelaysWhereItTakesATenthOfAKnownLink) {
  Measurement measurement = beside_traffic(11);
  measurement.metric = Metric::kLatency;
  EXPECT_TRUE(may_be_late_for_traffic(measurement));
  EXPECT_FALSE(may_be_late_for_traffic(beside_traffic(9)));
  measurement.ceiling = {};
  EXPECT_FALSE(may_be_late_for_traffic(measurement)) << "a tenth of what?";
  measurement.from.other_traffic->link = BitRate::gigabits(100);
  EXPECT_TRUE(may_be_late_for_traffic(measurement));
}

}  // namespace
}  // namespace railbed

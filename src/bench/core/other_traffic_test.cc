#include "bench/core/other_traffic.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Counters one second apart: bytes that the interface and the port sent; nothing came back.
std::optional<OtherTraffic> other(TrafficCounters counters, std::uint64_t interface, std::uint64_t port,
                                  const OwnTraffic& own, bool sends = true) {
  const TrafficCounts before{kSecond, 1000, 2000, 3000, 4000};
  TrafficCounts after = before;
  after.at_ns += kSecond;
  (sends ? after.sent : after.received) = *(sends ? before.sent : before.received) + interface;
  (sends ? after.port_sent : after.port_received) = *(sends ? before.port_sent : before.port_received) + port;
  return other_traffic(counters, before, after, own, sends);
}

TEST(OtherTrafficCounted, IsWhatTheMeasurementCannotHaveMoved) {
  const OwnTraffic tcp{1'000'000, 0, false};
  const OwnTraffic rdma{1'000'000, 0, true};
  struct Row {
    TrafficCounters counters;
    OwnTraffic own;
    std::uint64_t interface, port, others;
  };
  for (const Row& row : {
           Row{TrafficCounters::kInterface, tcp, 1'500'000, 0, 500'000},
           Row{TrafficCounters::kInterface, tcp, 900'000, 0, 0},  // fewer headers than it may have had
           Row{TrafficCounters::kInterface, rdma, 1'500'000, 0, 500'000},  // software RDMA
           Row{TrafficCounters::kInterfaceAndPort, tcp, 1'500'000, 70'000, 570'000},
           Row{TrafficCounters::kInterfaceAndPort, rdma, 70'000, 1'500'000, 570'000},
           Row{TrafficCounters::kEitherAll, rdma, 1'500'000, 1'400'000, 500'000},
           Row{TrafficCounters::kEitherAll, rdma, 70'000, 1'400'000, 400'000},
           Row{TrafficCounters::kPort, tcp, 5'000'000, 1'500'000, 500'000},  // IPoIB counts twice
       }) {
    for (const bool sends : {true, false}) {
      const auto found = other(row.counters, row.interface, row.port, row.own, sends);
      ASSERT_TRUE(found);
      EXPECT_EQ(sends ? found->sent : found->received, row.others);
      EXPECT_EQ(sends ? found->received : found->sent, 0U);
      EXPECT_DOUBLE_EQ(found->seconds, 1);
    }
  }
}

TEST(OtherTrafficCounted, IsNotKnownWithoutItsCounters) {
  const TrafficCounts before{kSecond, 1000, 2000, std::nullopt, std::nullopt};
  TrafficCounts after = before;
  after.at_ns += kSecond;
  EXPECT_TRUE(other_traffic(TrafficCounters::kInterface, before, after, {}, true));
  EXPECT_TRUE(other_traffic(TrafficCounters::kEitherAll, before, after, {}, true));
  EXPECT_FALSE(other_traffic(TrafficCounters::kPort, before, after, {}, true));
  EXPECT_FALSE(other_traffic(TrafficCounters::kInterfaceAndPort, before, after, {}, true));
  after.sent = 10;
  EXPECT_FALSE(other_traffic(TrafficCounters::kInterface, before, after, {}, true)) << "it began anew";
  after = before;
  EXPECT_FALSE(other_traffic(TrafficCounters::kInterface, before, after, {}, true)) << "no time has passed";
}

}  // namespace
}  // namespace railbed

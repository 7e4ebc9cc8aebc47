#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "bench/pairs/measure.h"
#include "bench/ping/echo.h"
#include "host/open.h"

namespace railbed {
namespace {

Measurement ping_once(const char* to, double seconds) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  BenchPlan plan;
  plan.engines = {Engine::kPing};
  plan.latency_sizes = {56};
  plan.warmup = 0.05;
  plan.seconds = seconds;
  const auto all = measure_pair({&a, "lo", IpAddress::parse("127.0.0.1"), nullptr},
                                {&b, "lo", IpAddress::parse(to), nullptr}, "lo", plan, {}, {});
  EXPECT_EQ(all.size(), 1U) << "a ping has no bandwidth";
  return all.at(0);
}

TEST(Ping, MeasuresHalfARoundTrip) {
  const Measurement measurement = ping_once("127.0.0.1", 0.3);
  if (measurement.failure && measurement.failure->stage == "connect")
    GTEST_SKIP() << measurement.failure->cause;
  ASSERT_FALSE(measurement.failure) << measurement.failure->cause;
  EXPECT_EQ(measurement.engine, Engine::kPing);
  EXPECT_EQ(measurement.metric, Metric::kLatency);
  EXPECT_GT(measurement.summary.samples, 5U);
  EXPECT_GT(measurement.summary.median, 0);
  EXPECT_LT(measurement.summary.median, 1e8);
  EXPECT_EQ(measurement.lost, 0U);
}

TEST(Ping, OfAnAddressThatNobodyHasFailsWithACause) {
  const Measurement measurement = ping_once("203.0.113.7", 0.2);  // reserved for documentation (RFC 5737)
  ASSERT_TRUE(measurement.failure);
  EXPECT_FALSE(measurement.failure->cause.empty());
}

// The example of RFC 1071, section 3.
TEST(Ping, ChecksumIsTheInternets) {
  const std::array<std::byte, 8> bytes{std::byte{0x00}, std::byte{0x01}, std::byte{0xf2}, std::byte{0x03},
                                       std::byte{0xf4}, std::byte{0xf5}, std::byte{0xf6}, std::byte{0xf7}};
  const std::uint16_t sum = internet_checksum(bytes);
  std::array<std::uint8_t, 2> stored{};
  std::memcpy(stored.data(), &sum, sizeof sum);
  EXPECT_EQ(stored[0], 0x22);  // the complement of dd f2
  EXPECT_EQ(stored[1], 0x0d);
}

}  // namespace
}  // namespace railbed

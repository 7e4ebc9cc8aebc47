#include "bench/pairs/measure_rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "host/open.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

const IpAddress kThisMachine = *IpAddress::parse("127.0.0.1");

BenchPlan plan_at_once() {
  BenchPlan plan;
  plan.engines = {Engine::kTcp};
  plan.seconds = 3;  // sixteen rails take turns on two processors, and each must get its time
  plan.warmup = 0.05;
  plan.sizes = {65536};
  plan.streams = 1;
  plan.both_ways = true;
  return plan;
}

// A rail that was served late has an interval more or less than the others. The total has only the intervals
// that all rails have.
void expect_sum_of_rails(const AllRails& way) {
  const std::vector<double>& total = way.total->intervals;
  ASSERT_FALSE(total.empty());
  for (std::size_t i = 0; i < total.size(); ++i) {
    double sum = 0;
    for (const RailPart& part : way.rails) {
      ASSERT_GE(part.at_once->intervals.size(), total.size());
      sum += part.at_once->intervals[i];
    }
    EXPECT_NEAR(total[i], sum, 1e-9 * sum) << "interval " << i;
  }
}

// With this many rails, the sessions of one measurement would push each other out if agents kept only a few.
TEST(MeasureRails, AllCarryAtOnceEachWayAndAddUp) {
  constexpr std::size_t kRails = 16;
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  std::vector<RailEnds> rails;
  for (std::size_t i = 0; i < kRails; ++i)
    rails.push_back(
        {"rail" + std::to_string(i), {&a, "lo", kThisMachine, nullptr}, {&b, "lo", kThisMachine, nullptr}});
  std::vector<std::string> said;
  const auto all =
      measure_rails(rails, plan_at_once(), [&](std::string_view text) { said.emplace_back(text); }, {});
  EXPECT_EQ(said, (std::vector<std::string>{"tcp bandwidth a → b, 16 rails at once",
                                            "tcp bandwidth b → a, 16 rails at once"}));
  ASSERT_EQ(all.size(), 2 * (kRails + 1));
  for (const Measurement& measurement : all) {
    EXPECT_FALSE(measurement.failure) << measurement.failure->cause;
    EXPECT_EQ(measurement.operation, "all rails at once");
    EXPECT_EQ(measurement.wrong_bytes, 0u);
    // Sixteen rails share these processors: a rail that waits for a processor has empty intervals.
    ASSERT_FALSE(measurement.intervals.empty());
    EXPECT_GT(std::ranges::max(measurement.intervals), 0);
  }
  const auto ways = all_rails_of(all);
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[1].total->from.node, "b");
  EXPECT_EQ(ways[0].rails.size(), kRails);
  EXPECT_EQ(ways[0].total->streams, static_cast<int>(kRails));
  expect_sum_of_rails(ways[0]);
  expect_sum_of_rails(ways[1]);
}

TEST(MeasureRails, OneThatFailsLeavesNoTotal) {
  LocalPeer a("a", bench_handlers(open_this_machine()));
  LocalPeer b("b", bench_handlers(open_this_machine()));
  const PairEnd bare{&b, "ens6", std::nullopt, nullptr};
  const auto all =
      measure_rails({{"rail0", {&a, "lo", kThisMachine, nullptr}, {&b, "lo", kThisMachine, nullptr}},
                     {"rail1", {&a, "lo", kThisMachine, nullptr}, bare}},
                    plan_at_once(), {}, {});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_FALSE(all[0].failure);
  EXPECT_TRUE(all[1].failure);
  EXPECT_TRUE(all_rails_of(all).empty());
}

}  // namespace
}  // namespace railbed

#include "predict/latency_budget.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

// The V100 guide's pair: 64 bytes over 40 Gb/s, 2 m of cable, back to back.
LatencyPath guide() {
  LatencyPath path;
  path.rate = BitRate::gigabits(40);
  path.mtu = 1024;
  return path;
}

double low_of(const LatencyBudget& budget, std::string_view name) {
  for (const BudgetRow& row : budget.rows)
    if (row.name == name) return row.low.count();
  return -1;
}

TEST(LatencyBudget, ExplainsWhatTheGuideMeasured) {
  const auto budget = rdma_budget(guide(), MeasuredLatency{Nanoseconds{850}, "ib_write_lat"});
  EXPECT_DOUBLE_EQ(low_of(budget, "cable"), 10);
  EXPECT_DOUBLE_EQ(low_of(budget, "switch"), 0);
  // 64 bytes and their headers at 5 bytes a nanosecond.
  EXPECT_DOUBLE_EQ(low_of(budget, "serialisation"),
                   static_cast<double>(least_wire_bytes(Wire::kRoceV2Ipv4, 1024, 64)) / 5);
  EXPECT_NEAR(budget.low.count(), 400 + 200 + 10 + 227 + low_of(budget, "serialisation"), 1e-9);
  EXPECT_NE(budget.verdict, "");
  // The guide's own sum of estimates is its measurement; ours counts the headers, too.
  EXPECT_NEAR(budget.low.count(), 850, 25);
}

TEST(LatencyBudget, SwitchesCountByTheirClass) {
  LatencyPath path = guide();
  path.switches = 3;
  const auto none = rdma_budget(guide(), std::nullopt);
  const auto three = rdma_budget(path, std::nullopt);
  EXPECT_NEAR((three.low - none.low).count(), 3 * 300, 1e-9);
  EXPECT_NEAR((three.high - none.high).count(), 3 * 500, 1e-9);
  path.kind = SwitchClass::kLowCost;
  EXPECT_NEAR((rdma_budget(path, std::nullopt).high - none.high).count(), 3 * 10000, 1e-9);
}

TEST(LatencyBudget, SaysWhenRowsDoNotExplainIt) {
  EXPECT_EQ(tcp_budget(guide(), MeasuredLatency{Nanoseconds{21900}, ""}).verdict,
            "within what the rows explain");
  EXPECT_TRUE(tcp_budget(guide(), MeasuredLatency{Nanoseconds{80000}, ""}).verdict.find(" more than ") !=
              std::string::npos);
  EXPECT_TRUE(rdma_budget(guide(), MeasuredLatency{Nanoseconds{500}, ""}).verdict.find(" less than ") !=
              std::string::npos);
}

TEST(LatencyBudget, OfARunTakesItsFloor) {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.metric = Metric::kLatency;
  measurement.rail = "rail0";
  measurement.message_bytes = 8;
  measurement.summary.median = 900;
  measurement.floor.parts = {{"wire", Nanoseconds{16}, "80 bytes"},
                             {"PCIe of a", Nanoseconds{5}, "Gen3 x8"},
                             {"PCIe of b", Nanoseconds{7}, "Gen3 x8"}};
  const auto budget = budget_of(measurement, guide());
  EXPECT_DOUBLE_EQ(low_of(budget, "serialisation"), 16);
  EXPECT_DOUBLE_EQ(low_of(budget, "PCIe"), 12);
  EXPECT_DOUBLE_EQ(budget.low.count(), 400 + 16 + 12 + 10 + 227);
  EXPECT_EQ(*budget.measured, Nanoseconds{900});
}

// The guide's table: 22 ms against 0.85 ms a second at a thousand.
TEST(Syncs, AreTheGuidesTable) {
  const auto table = sync_table(Nanoseconds{21900}, Nanoseconds{850});
  ASSERT_EQ(table.size(), 3u);
  EXPECT_DOUBLE_EQ(table[1].tcp.count(), 21.9e6);
  EXPECT_DOUBLE_EQ(table[1].rdma.count(), 0.85e6);
  EXPECT_DOUBLE_EQ(table[0].tcp.count(), 2.19e6);
  EXPECT_DOUBLE_EQ(table[2].rdma.count(), 8.5e6);
}

}  // namespace
}  // namespace railbed

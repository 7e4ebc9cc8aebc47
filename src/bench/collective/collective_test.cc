#include "bench/collective/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/collective/measure_collective.h"
#include "bench/gpu/nccl_library.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;

TEST(Collective, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 2), 1);
  for (const auto divided : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
                             Collective::kGather, Collective::kScatter})
    EXPECT_DOUBLE_EQ(bus_factor(divided, 4), 0.75) << to_text(divided);
  for (const auto whole : {Collective::kBroadcast, Collective::kReduce, Collective::kSendReceive})
    EXPECT_DOUBLE_EQ(bus_factor(whole, 4), 1) << to_text(whole);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 1), 1);
}

TEST(Collective, SizesGoUpByTheFactorAndEnd) {
  EXPECT_THAT(size_sweep(8, 512, 4), ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(size_sweep(8, 500, 4), ElementsAre(8, 32, 128));
  EXPECT_THAT(size_sweep(64, 64, 2), ElementsAre(64));
  EXPECT_TRUE(size_sweep(0, 64, 2).empty());
  EXPECT_TRUE(size_sweep(8, 64, 1).empty());
  EXPECT_EQ(size_sweep(1, UINT64_MAX, 2).size(), 64U);
}

TEST(Collective, BlocksAreMultiplesOf16Bytes) {
  const auto gather = shape_of(Collective::kAllGather, DataType::kFloat32, 1000, 4);
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->block, 60U);  // 250 bytes hold 15 times 16
  EXPECT_EQ(gather->bytes, 960U);
  EXPECT_EQ(gather->send, 60U);
  EXPECT_EQ(gather->receive, 240U);
  EXPECT_FALSE(shape_of(Collective::kAllGather, DataType::kFloat32, 32, 4));
  const auto all = shape_of(Collective::kAllReduce, DataType::kFloat64, 20, 4);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->bytes, 16U);
  EXPECT_FALSE(shape_of(Collective::kAllReduce, DataType::kFloat64, 7, 4));
}

TEST(Collective, OnlyTheRootReceives) {
  const auto shape = shape_of(Collective::kReduce, DataType::kInt32, 64, 4).value();
  EXPECT_TRUE(expected_on(Collective::kReduce, shape, 2, 4, 2));
  EXPECT_FALSE(expected_on(Collective::kReduce, shape, 1, 4, 2));
  EXPECT_FALSE(expected_on(Collective::kGather, shape, 1, 4, 2));
  EXPECT_TRUE(expected_on(Collective::kScatter, shape, 1, 4, 2));
}

TEST(Collective, SumsStayExactInEveryType) {
  for (int i = 0; i < static_cast<int>(enum_names(DataType{}).size()); ++i)
    for (const int ranks : {1, 2, 8, 64}) {
      const auto type = static_cast<DataType>(i);
      const std::uint32_t most = ranks * (modulus_for(type, ranks) - 1);
      const std::map<DataType, std::uint32_t> limits{
          {DataType::kInt8, 127}, {DataType::kBfloat16, 256}, {DataType::kFloat16, 2048}};
      if (const auto limit = limits.find(type); limit != limits.end()) {
        EXPECT_LE(most, limit->second);
      }
      EXPECT_GE(modulus_for(type, ranks), ranks == 64 ? 1U : 2U);
    }
}

TEST(Collective, TheDataTellsRanksAndPlacesApart) {
  const Pattern pattern{DataType::kFloat32, 7, 4096};
  int same_rank = 0;
  int same_place = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same_rank += pattern_number(pattern, 0, i) == pattern_number(pattern, 1, i) ? 1 : 0;
    same_place += pattern_number(pattern, 0, i) == pattern_number(pattern, 0, i + (1ULL << 32)) ? 1 : 0;
    EXPECT_LT(pattern_number(pattern, 3, i), 4096U);
  }
  EXPECT_LT(same_rank, 10);
  EXPECT_LT(same_place, 10);
}

TEST(Collective, NodesAreMergedBySlowestSample) {
  CollectiveSeries a{1 << 20, 262144, {100, 200}, {}, {50}, {}, 1, 0};
  merge(a, {1 << 20, 262144, {150, 120}, {}, {40}, {}, 2, 1});
  EXPECT_THAT(a.launched, ElementsAre(150, 200));
  EXPECT_THAT(a.graph, ElementsAre(50));
  EXPECT_EQ(a.wrong, 3U);
  EXPECT_EQ(a.in_place_wrong, 1U);
  merge(a, {1 << 20, 262144, {1, 1}, {}, {1}, {}, 1, 0, {5}});
  EXPECT_THAT(row_of(a, Collective::kAllReduce, 6, true).wrong_ranks, ElementsAre(5));
}

TEST(Collective, RatesComeFromTheMedianTime) {
  const CollectiveSeries series{1'000'000, 250'000, {9000, 10000, 11000}, {}, {}, {}, 0, 0};
  const auto row = row_of(series, Collective::kAllReduce, 4, true);
  EXPECT_DOUBLE_EQ(row.launched.median, 10000);
  EXPECT_DOUBLE_EQ(row.algbw, 800e9);  // 100 GB/s
  EXPECT_DOUBLE_EQ(row.busbw, 1200e9);
  EXPECT_FALSE(row.graph);
}

TEST(Collective, SmallOnesAreKeptAsTimesAndLargeOnesAsBandwidth) {
  CollectiveReport report;
  report.ranks.resize(4);
  report.rows.push_back(row_of({1024, 256, {10000}, {}, {7000}, {}, 0, 0}, Collective::kAllReduce, 4, true));
  report.rows.push_back(
      row_of({1 << 20, 262144, {9000, 10000, 12000}, {}, {}, {}, 0, 0}, Collective::kAllReduce, 4, true));
  const auto kept = collective_measurements(report);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].metric, Metric::kLatency);
  EXPECT_EQ(kept[0].operation, "all_reduce float32");
  EXPECT_EQ(kept[1].operation, "all_reduce float32, graph");
  EXPECT_DOUBLE_EQ(kept[1].summary.median, 7000);
  EXPECT_EQ(kept[2].metric, Metric::kBandwidth);
  EXPECT_DOUBLE_EQ(kept[2].summary.median, report.rows[1].busbw);
  EXPECT_LT(kept[2].summary.minimum, kept[2].summary.maximum);
}

TEST(Collective, AnAgentRefusesPlansThatMakeNoSense) {
  CollectivePlan plan;
  EXPECT_FALSE(check_plan(plan));
  plan.sizes = {8};
  EXPECT_TRUE(check_plan(plan));
  plan.place.first_rank = 1;
  EXPECT_FALSE(check_plan(plan));
  plan.place.first_rank = 0;
  plan.sizes = {0};
  EXPECT_FALSE(check_plan(plan));
  plan.sizes = {8};
  plan.iterations = 0;
  EXPECT_FALSE(check_plan(plan));
  plan.iterations = 1;
  plan.soak = -1;
  EXPECT_FALSE(check_plan(plan));
}

TEST(Nccl, TheUniqueIdGoesThroughText) {
  NcclUniqueId id = {};
  for (int i = 0; i < 128; ++i) id.bytes[i] = static_cast<char>(i * 3);
  const auto back = unique_id(to_hex(id));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_hex(*back), to_hex(id));
  EXPECT_FALSE(unique_id("00"));
  EXPECT_FALSE(unique_id(std::string(256, 'g')));
}

}  // namespace
}  // namespace railbed

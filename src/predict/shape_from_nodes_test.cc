#include "predict/shape_from_nodes.h"

#include <gtest/gtest.h>

#include "facts/facts.h"
#include "hardware/gpu_sheet.h"
#include "inventory/load.h"
#include "predict/against.h"
#include "predict/rail_plan.h"
#include "results/collective.h"

namespace railbed {
namespace {

std::string from_of(const ClusterShape& shape, std::string_view what) {
  for (const ShapeSaying& saying : shape.said)
    if (saying.what == what) return saying.from;
  return "";
}

TEST(ShapeFromNodes, GoesByTheFileAlone) {
  const auto cluster = load_cluster(RAILBED_SOURCE_DIR "/examples/rail-optimised-1000.yaml");
  ASSERT_TRUE(cluster) << cluster.error().text;
  ShapeWords words;
  words.gpu = "H100";
  const auto shape = shape_from_nodes(*cluster, {}, words);
  ASSERT_TRUE(shape) << shape.error().text;
  EXPECT_EQ(shape->nodes, 1000);
  EXPECT_EQ(shape->nics, static_cast<int>(cluster->rails.size()));
  EXPECT_EQ(from_of(*shape, "adapters"), "cluster.yaml");
  EXPECT_EQ(from_of(*shape, "GPU"), "command line");
}

TEST(ShapeFromNodes, LeavesOutTheStorageNetworkAndItsServers) {
  RailPlanRequest request;
  request.nodes = 4;
  request.rails = 2;
  request.network = *IpAddress::parse("10.0.0.0");
  request.storage = StorageNetworkRequest{};
  const auto plan = plan_rails(request);
  ASSERT_TRUE(plan) << plan.error().text;
  ShapeWords words;
  words.gpu = "A100";
  words.gpus = 2;
  const auto shape = shape_from_nodes(plan->cluster, {}, words);
  ASSERT_TRUE(shape) << shape.error().text;
  EXPECT_EQ(shape->nodes, 4);
  EXPECT_EQ(shape->nics, 2);
}

TEST(ShapeFromNodes, RefusesWhereNobodySaysWhatGpusThereAre) {
  EXPECT_FALSE(shape_from_nodes(Cluster{}, {}));
}

TEST(ShapeFromWords, ReadsWhatPeopleType) {
  ShapeWords words;
  words.gpu = "NVIDIA H100 80GB HBM3";
  words.nodes = 2;
  words.nic = "8x400ib";
  const auto shape = shape_from_words(words);
  ASSERT_TRUE(shape) << shape.error().text;
  EXPECT_EQ(shape->ranks(), 16);
  EXPECT_TRUE(shape->nvls);
  EXPECT_DOUBLE_EQ(shape->nic_rate.gigabits(), 400);
  for (const char* wrong : {"400ib", "8x400", "0x400ib", "8x400wifi", "8xib", "x", "8x99999ib"}) {
    words.nic = wrong;
    EXPECT_FALSE(shape_from_words(words)) << wrong;
  }
  words.nic.clear();
  EXPECT_FALSE(shape_from_words(words)) << "two nodes without adapters";
  words.gpu = "abacus";
  EXPECT_FALSE(shape_from_words(words));
}

TEST(ShapeFromWords, AnNvlinkNetworkOverNodesNeedsNoAdapters) {
  ShapeWords words;
  words.gpu = "GB300";
  words.gpus = 4;
  words.nodes = 16;
  words.domain_nodes = 18;
  const auto shape = shape_from_words(words);
  ASSERT_TRUE(shape) << shape.error().text;
  EXPECT_EQ(shape->domains(), 1);
  EXPECT_EQ(forecast_collective(*shape, Collective::kAllReduce, 1 << 30).path, PathKind::kNvls);
}

CollectiveReport measured(double busbw_gigabytes) {
  CollectiveReport report;
  for (int i = 0; i < 8; ++i) report.ranks.push_back({i, "gpu01", 0, {i, "", "NVIDIA H100 80GB HBM3"}});
  CollectiveRow row;
  row.bytes = std::uint64_t{1} << 30;
  row.busbw = busbw_gigabytes * 8e9;
  report.rows = {row};
  return report;
}

TEST(Against, SaysWhatFitsAndWhatFallsShort) {
  BenchRun run;
  run.collectives = {measured(465), measured(390), measured(100)};
  ShapeWords words;
  words.gpu = "H100";
  const auto checks = check_run(run, *shape_from_words(words), shipped_calibration());
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[0].fit, ForecastFit::kFits);
  EXPECT_EQ(checks[1].fit, ForecastFit::kDoubtful);
  EXPECT_EQ(checks[2].fit, ForecastFit::kFallsShort);
  EXPECT_EQ(verdict_of(checks).fit, ForecastFit::kFallsShort);
  EXPECT_NEAR(checks[0].ratio, checks[0].measured / checks[0].predicted, 1e-9);
}

Measurement of_another_tool(double gigabits, const char* operation, std::uint64_t bytes) {
  Measurement measurement;
  measurement.engine = Engine::kRdma;
  measurement.operation = operation;
  measurement.from.node = "client";
  measurement.to.node = "server";
  measurement.message_bytes = bytes;
  measurement.summary.samples = 1;
  measurement.summary.median = gigabits * 1e9;
  return measurement;
}

TEST(Against, RdmaOfAnotherToolIsJudgedByOneAdapter) {
  BenchRun run;
  run.measurements = {of_another_tool(392, "write", 1 << 20), of_another_tool(250, "write", 65536),
                      of_another_tool(780, "write duplex", 1 << 20), of_another_tool(1, "write", 64)};
  ShapeWords words;
  words.gpu = "H100";
  words.nodes = 2;
  words.nic = "8x400ib";
  words.staged = true;  // concerns the GPUs' memory, not that of ib_write_bw
  const auto checks = check_run(run, *shape_from_words(words), shipped_calibration());
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[0].subject, "client -> server write");
  EXPECT_EQ(checks[0].fit, ForecastFit::kFits);
  EXPECT_LT(checks[0].high, 400e9);
  EXPECT_EQ(checks[1].fit, ForecastFit::kFallsShort);
  EXPECT_EQ(checks[2].fit, ForecastFit::kFits);
  words.nic = "1x100tcp";
  EXPECT_TRUE(check_run(run, *shape_from_words(words), shipped_calibration()).empty());
}

TEST(Against, KnowsGpusOfOneNodeByTheirName) {
  const auto forecasts = forecasts_of(measured(400), Cluster{}, {});
  ASSERT_EQ(forecasts.size(), 1u);
  EXPECT_GT(forecasts[0].busbw, 400e9);
}

// Properties of the physics that the model must have, whatever the constants.
class Physics : public testing::Test {
 protected:
  static double busbw(int nodes, const ForecastChoice& choice = {},
                      Collective operation = Collective::kAllReduce, const ShapeWords& base = {}) {
    ShapeWords words = base;
    words.gpu = "H100";
    words.nodes = nodes;
    words.nic = words.nic.empty() ? "8x400ib" : words.nic;
    return forecast_collective(*shape_from_words(words), operation, std::uint64_t{4} << 30,
                               shipped_calibration(), choice)
               .busbw /
           8e9;
  }
};

TEST_F(Physics, OnlyTwoNodesExceedTheWire) {
  EXPECT_GT(busbw(2), 400);
  EXPECT_LT(busbw(4), 400);
  EXPECT_GT(busbw(4), .85 * 400);
}

TEST_F(Physics, EightBitNumbersLoseTheSwitch) {
  ForecastChoice eight;
  eight.type = DataType::kInt8;
  EXPECT_LT(busbw(1, eight), .85 * busbw(1));
}

TEST_F(Physics, GatheringFallsBehindWithNodes) {
  EXPECT_NEAR(busbw(32, {}, Collective::kAllGather), 200, 30);
}

TEST_F(Physics, NarrowSlotsAndStagingBind) {
  ShapeWords narrow;
  narrow.nic_pcie_generation = 5;
  narrow.nic_pcie_lanes = 8;
  EXPECT_LT(busbw(4, {}, Collective::kAllReduce, narrow), .65 * busbw(4));
  ShapeWords four = narrow;
  four.nic_pcie_lanes = 4;
  EXPECT_NEAR(busbw(4, {}, Collective::kAllReduce, four) / busbw(4, {}, Collective::kAllReduce, narrow), .5,
              .03);
  ShapeWords staged;
  staged.staged = true;
  EXPECT_LT(busbw(4, {}, Collective::kAllReduce, staged), .5 * busbw(4));
}

TEST_F(Physics, TimesGrowWithSizeAndBandsHoldTheForecast) {
  ShapeWords words;
  words.gpu = "A100";
  words.nodes = 4;
  words.nic = "4x200roce";
  const ClusterShape shape = *shape_from_words(words);
  for (std::size_t op = 0; op < enum_names(Collective{}).size(); ++op) {
    double before = 0;
    for (int power = 3; power <= 34; ++power) {
      const Forecast forecast =
          forecast_collective(shape, static_cast<Collective>(op), std::uint64_t{1} << power);
      EXPECT_GT(forecast.time, before) << to_text(static_cast<Collective>(op)) << " " << power;
      EXPECT_LT(forecast.busbw_low, forecast.busbw);
      EXPECT_GT(forecast.busbw_high, forecast.busbw);
      before = forecast.time;
    }
  }
}

// Two tables count NVLinks: forecasts' and that of data sheets.
TEST(ShapeFromNodes, CountsTheNvlinksOfTheDataSheet) {
  int boards = 0;
  for (const std::string_view name : gpu_sheet_names()) {
    const GpuSheet sheet = gpu_sheets(name).front();
    if (sheet.nvlink != "board" && sheet.nvlink != "switch") continue;
    ClusterShape shape;
    fill_gpu(shape, name, 0, false);
    const double each = sheet.architecture == "Pascal" ? 20 : sheet.architecture == "Blackwell" ? 50 : 25;
    EXPECT_EQ(2 * shape.nvlinks * each, sheet.nvlink_bandwidth) << name;
    ++boards;
  }
  EXPECT_GT(boards, 10);
}

}  // namespace
}  // namespace railbed

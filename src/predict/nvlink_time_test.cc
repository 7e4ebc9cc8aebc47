// Compares with times of two, three and four H100 with each protocol forced
// (tests/predict/h100-protocols.json).
#include "predict/nvlink_time.h"
#include "base/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "predict/collective_forecast.h"
#include "predict/path_limits.h"
#include "predict/testing/json_file.h"

namespace railbed {
namespace {

struct Series {
  Collective operation = Collective::kAllReduce;
  int ranks = 0;
  NcclProtocol protocol = NcclProtocol::kLl;
  std::vector<std::vector<std::uint64_t>> rows;
  FIELDS(Series, operation, ranks, protocol, rows);
};
struct SeriesFile {
  std::string about;
  std::vector<Series> series;
  FIELDS(SeriesFile, about, series);
};

ClusterShape h100s(int gpus) {
  ShapeWords words;
  words.gpu = "H100";
  words.gpus = gpus;
  words.nodes = 1;
  words.no_nvls = true;
  return *shape_from_words(words);
}

double forecast_time(const Series& series, std::uint64_t bytes) {
  const ClusterShape shape = h100s(series.ranks);
  const PathConstants& constants = shipped_calibration().of(PathKind::kNvlink);
  const BitRate limit = path_limits(shape, series.operation, NcclAlgorithm::kRing).at(0).limit.rate;
  for (const TuningEstimate& each : tuning_estimates(tuned_for(shape), series.operation, bytes))
    if (each.algorithm == NcclAlgorithm::kRing && each.protocol == series.protocol)
      return nvlink_time(series.operation, series.ranks, bytes, each, constants,
                         {limit * constants.efficiency, shape.link_rate})
          .sum();
  ADD_FAILURE() << "NCCL would not consider it";
  return 0;
}

// True if NCCL uses the protocol for this size, or nearly so. Messages below 16 KiB are hidden by their
// launch.
bool in_use(NcclProtocol protocol, std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  if (protocol == NcclProtocol::kLl) return bytes >= kMiB / 64 && bytes <= 2 * kMiB;
  if (protocol == NcclProtocol::kLl128) return bytes >= 2 * kMiB && bytes <= 32 * kMiB;
  return bytes >= 4 * kMiB;
}

TEST(NvlinkTime, FollowsEveryProtocolWhereItIsUsed) {
  const auto all = read_json_file<SeriesFile>("predict/h100-protocols.json").series;
  ASSERT_EQ(all.size(), 27);
  for (const NcclProtocol protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
    std::vector<double> errors;
    for (const Series& series : all)
      for (const auto& row : series.rows)
        if (series.protocol == protocol && in_use(protocol, row.at(0)))
          errors.push_back(
              std::abs(forecast_time(series, row.at(0)) * 1e3 / static_cast<double>(row.at(1)) - 1));
    ASSERT_GT(errors.size(), 40u);
    std::ranges::sort(errors);
    EXPECT_LE(errors[errors.size() / 2], .07) << to_text(protocol);
    EXPECT_LE(errors[errors.size() * 9 / 10], .16) << to_text(protocol);
    EXPECT_LE(errors.back(), .3) << to_text(protocol);
  }
}

TEST(NvlinkTime, LaunchingHidesBehindALongOperationAndTheOtherWayRound) {
  EXPECT_NEAR(launched_time(1000, 10), 1000, .01);
  EXPECT_NEAR(launched_time(5, 20), 20, .01);
  EXPECT_GT(launched_time(10, 10), 10);
  EXPECT_LT(launched_time(10, 10), 12);
  // One process for eight GPUs launches eight times in turn.
  EXPECT_GT(launch_time(Collective::kAllReduce, 8, false), 2 * launch_time(Collective::kAllReduce, 8, true));
}

TEST(NvlinkTime, AForecastHasTheStepWhereTheProtocolChanges) {
  const auto busbw = [](std::uint64_t mebibytes) {
    return forecast_collective(h100s(2), Collective::kAllReduce, mebibytes << 20, shipped_calibration(),
                               {.algorithm = {}, .from_graph = true});
  };
  // Measured: 2 MiB in 28.4 µs with Simple, as NCCL chose, and in 21.0 µs with LL.
  ASSERT_EQ(busbw(1).protocol, NcclProtocol::kLl);
  ASSERT_EQ(busbw(2).protocol, NcclProtocol::kSimple);
  EXPECT_NEAR(busbw(1).time / 1e3, 13.0, 1.5);
  EXPECT_NEAR(busbw(2).time / 1e3, 28.4, 3);
}

}  // namespace
}  // namespace railbed

#include "predict/path_limits.h"

#include <gtest/gtest.h>

#include "predict/collective_forecast.h"

namespace railbed {
namespace {

ClusterShape rails_of(const char* gpu, int gpus, const char* nic) {
  ShapeWords words;
  words.gpu = gpu;
  words.gpus = gpus;
  words.nodes = 2;
  words.nic = nic;
  return *shape_from_words(words);
}

TEST(UsedAdapters, AGpuUsesThoseThatItsSlotFeeds) {
  EXPECT_EQ(used_adapters(rails_of("H100", 1, "8x400ib")), 1);
  EXPECT_EQ(used_adapters(rails_of("H100", 2, "8x400ib")), 2);
  EXPECT_EQ(used_adapters(rails_of("A100", 1, "16x100roce")), 2);
  EXPECT_EQ(used_adapters(rails_of("H200", 1, "16x200efa")), 2);
  EXPECT_EQ(used_adapters(rails_of("L40S", 1, "2x200ib")), 1);
}

TEST(UsedAdapters, AllGpusUseAll) {
  for (const char* nic : {"8x400ib", "16x200efa", "32x100efa", "4x200ib", "1x100ib"})
    EXPECT_EQ(used_adapters(rails_of("H100", 8, nic)), rails_of("H100", 8, nic).nics) << nic;
  EXPECT_EQ(used_adapters(rails_of("A100", 8, "16x100roce")), 16);
  EXPECT_EQ(used_adapters(rails_of("B200", 8, "8x800ib")), 8);
}

// Without a slot between GPU and adapters, or where one may be missing, nothing is left out.
TEST(UsedAdapters, WithoutASlotAllCount) {
  EXPECT_EQ(used_adapters(rails_of("GB10", 1, "2x100roce")), 2);
  EXPECT_EQ(used_adapters(rails_of("GH200", 1, "4x200slingshot")), 4);
  EXPECT_EQ(used_adapters(rails_of("V100", 1, "2x100ib")), 2);
  EXPECT_EQ(used_adapters(rails_of("RTX 4090", 1, "2x200roce")), 2);
}

// NVIDIA/nccl-tests#232: one GPU on each of two nodes with four adapters of 400 Gb/s; tree, 32 MiB.
TEST(UsedAdapters, OneGpuOnFourRailsIsForecastAsPublished) {
  const ClusterShape shape = rails_of("H100", 1, "4x400roce");
  ForecastChoice choice;
  choice.algorithm = NcclAlgorithm::kTree;
  const Forecast made =
      forecast_collective(shape, Collective::kAllReduce, 33554432, shipped_calibration(), choice);
  EXPECT_NEAR(made.time / 812.3e3, 1, .15);
  EXPECT_TRUE(made.limit.name.starts_with("1 x 400")) << made.limit.name;
  EXPECT_LT(forecast_collective(shape, Collective::kSendReceive, std::uint64_t{1} << 30).busbw / 8e9, 50);
}

}  // namespace
}  // namespace railbed

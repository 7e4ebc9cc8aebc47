#include "predict/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/training_step.h"
#include "predict/path_limits.h"

namespace railbed {
namespace {

// A thousand million parameters in ten blocks, samples of one token: 6e9 operations each.
Model model() { return model_of({1e9, 10, 1000, 1}); }

// Constants with which all of a rate is reached and nothing takes time to start, so that the rest can be
// computed by hand.
Calibration ideal() {
  Calibration made = shipped_calibration();
  for (PathConstants& constants : made.paths) {
    constants.efficiency = 1;
    constants.start = constants.ramp = 0;
  }
  return made;
}

// Adapters that leave so many GB/s for data; GPUs pass on 100 GB/s within their node.
TrainingCluster cluster(int nodes, int gpus, int adapters, double gigabytes) {
  TrainingCluster made{{}, ideal()};
  made.shape.nodes = nodes;
  made.shape.gpus = gpus;
  made.shape.nics = adapters;
  made.shape.nic_rate = BitRate::gigabits(100);
  const double left = reached_of_adapter(made).gigabytes();
  made.shape.nic_rate = made.shape.nic_rate * (gigabytes / left);
  made.shape.nvlinks = 4;
  made.shape.link = GpuLink::kNvswitch;
  made.shape.link_rate = BitRate::gigabytes(100);
  return made;
}

// Adapters of 10 GB/s; 1 TFLOP/s a GPU; 1,000 samples: 6 s of computing.
TrainingPlan plan(int nodes, int gpus_per_node) {
  TrainingPlan plan;
  plan.model = model();
  plan.batch = 1000;
  plan.rates.matrix = 1e12;
  plan.bucket_bytes = 1'000'000'000;
  plan.cluster = cluster(nodes, gpus_per_node, 1, 10);
  return plan;
}

TEST(Exchange, AnAllReduceSendsWhatTheOthersLack) {
  const TrainingCluster four = cluster(4, 1, 2, 10);
  EXPECT_DOUBLE_EQ(bytes_per_adapter(Collective::kAllReduce, 1e9, {4, 1, 1}, four.shape),
                   0.75e9);  // 2 · ¾ / 2
  EXPECT_DOUBLE_EQ(bytes_per_adapter(Collective::kAllGather, 1e9, {4, 1, 1}, four.shape), 0.375e9);
  EXPECT_DOUBLE_EQ(bytes_per_adapter(Collective::kAllReduce, 1e9, {8, 8, 1}, four.shape), 0);
  EXPECT_NEAR(exchange_seconds(Collective::kAllReduce, 1e9, {4, 1, 1}, four), 0.075, 1e-6);
  EXPECT_DOUBLE_EQ(exchange_seconds(Collective::kAllReduce, 1e9, {1, 1, 1}, four), 0);
}

// Two tensor groups send at the same time over the one adapter.
TEST(Exchange, GroupsBesideEachOtherShareTheAdapters) {
  const TrainingCluster pair = cluster(2, 2, 1, 10);
  const double alone = exchange_seconds(Collective::kAllReduce, 1e9, {2, 1, 1}, pair);
  EXPECT_NEAR(exchange_seconds(Collective::kAllReduce, 1e9, {2, 1, 2}, pair), 2 * alone, 1e-6);
}

// The same forecast that `railbed predict` gives.
TEST(Exchange, IsWhatTheCollectiveForecastSays) {
  TrainingCluster sound = cluster(1, 4, 0, 10);
  sound.calibration = shipped_calibration();
  ForecastChoice choice;
  choice.from_graph = true;
  const Forecast said =
      forecast_collective(sound.shape, Collective::kAllReduce, 1'000'000'000, sound.calibration, choice);
  EXPECT_DOUBLE_EQ(exchange_seconds(Collective::kAllReduce, 1e9, {4, 4, 1}, sound), said.time / 1e9);
}

TEST(Training, OneGpuOnlyComputes) {
  const auto forecast = forecast_training(plan(1, 1));
  ASSERT_TRUE(forecast);
  EXPECT_DOUBLE_EQ(forecast->compute, 6);
  EXPECT_DOUBLE_EQ(forecast->backward, 4);
  EXPECT_DOUBLE_EQ(forecast->step, 6);
  EXPECT_DOUBLE_EQ(forecast->efficiency, 1);
  EXPECT_DOUBLE_EQ(forecast->tokens_per_second, 1000 / 6.0);
}

// 4 GB of gradients at 10 GB/s between two nodes: 0.4 s, hidden but for the last bucket. Buckets: 1 MiB, then
// three of 1 GB, and what is left, 0.998951424 GB.
TEST(Training, TheLastBucketIsExposed) {
  const auto forecast = forecast_training(plan(2, 1));
  ASSERT_TRUE(forecast);
  EXPECT_NEAR(forecast->exchanges.at(0).seconds, 0.4, 1e-7);
  EXPECT_NEAR(forecast->exposed, 0.0998951424, 1e-7);
  EXPECT_NEAR(forecast->disturbed, 0.15 * (0.4 - 0.0998951424), 1e-7);
  EXPECT_NEAR(forecast->step, 6 + forecast->exposed + forecast->disturbed, 1e-12);
  // 2 (N − 1) / N · G / T_backward.
  const double left = reached_of_adapter(plan(2, 1).cluster) / plan(2, 1).shape().nic_rate;
  EXPECT_NEAR(forecast->least_adapter.gigabytes(), 4.0 / 4 / left, 1e-9);
}

TEST(Training, WhatOutlastsTheBackwardPassIsExposed) {
  TrainingPlan slow = plan(2, 1);
  slow.cluster = cluster(2, 1, 1, 0.5);  // 8 s of exchange, 4 s of backward pass
  const auto beneath = forecast_training(slow);
  // The first bucket of 1 GB is ready after three of ten blocks, 1.2 s. Then all but 2 MB of the 8 s follow.
  EXPECT_NEAR(beneath->exposed, 1.2 + 8 - 4 - 0.002, 1e-3);
  slow.overlap = 0.5;
  const auto forecast = forecast_training(slow);
  EXPECT_NEAR(forecast->exposed, (8 + beneath->exposed) / 2, 1e-6);
  const double left = reached_of_adapter(slow.cluster) / slow.shape().nic_rate;
  EXPECT_NEAR(forecast->least_adapter.gigabytes(), 2 / left, 1e-9);
}

// Each block: 0.2 GB of 16-bit weights gathered twice, 0.4 GB of gradients scattered; of that one half passes
// to the other node: 10 ms, 10 ms, 20 ms.
TEST(Training, ShardedParametersAreGatheredTwice) {
  TrainingPlan sharded = plan(2, 1);
  sharded.sharding = Sharding::kWeights;
  const auto forecast = forecast_training(sharded);
  EXPECT_NEAR(forecast->exchanges.at(0).seconds, 10 * (0.010 + 0.010 + 0.020), 1e-6);
  EXPECT_NEAR(forecast->exposed, 0.010 + 0.020, 1e-6);
  EXPECT_DOUBLE_EQ(forecast->exchanges.at(0).adapter_bytes, 2 * 1e9 + 2e9);
}

// Two GPUs of one node share matrices: four all_reduces of 1,000 tokens × 1,000 × 2 bytes a block, at
// 10 GB/s and a little less in a ring of two: 0.2 ms each. Gradients of a GPU are half.
TEST(Training, TensorGroupsWaitForActivations) {
  TrainingPlan tensor = plan(2, 2);
  tensor.tensor = 2;
  tensor.cluster.shape.link_rate = BitRate::gigabytes(10 * 1.075);
  const auto forecast = forecast_training(tensor);
  ASSERT_TRUE(forecast);
  EXPECT_DOUBLE_EQ(forecast->compute, 3);
  EXPECT_EQ(forecast->replicas, 2);
  EXPECT_DOUBLE_EQ(forecast->gradient_bytes, 2e9);
  EXPECT_NEAR(forecast->exchanges.at(1).exposed, 40 * 0.2e-3, 1e-6);
  // Both tensor ranks of a node send their half over the one adapter.
  EXPECT_DOUBLE_EQ(forecast->exchanges.at(0).adapter_bytes, 4e9);
}

// Four stages, eight micro-batches: three eighths of the computing wait.
TEST(Training, PipelinesHaveABubble) {
  TrainingPlan staged = plan(4, 1);
  staged.pipeline = 4;
  staged.micro_batches = 8;
  const auto forecast = forecast_training(staged);
  ASSERT_TRUE(forecast);
  EXPECT_DOUBLE_EQ(forecast->compute, 1.5);
  EXPECT_DOUBLE_EQ(forecast->bubble, 1.5 * 3 / 8);
  // 125 tokens × 1,000 × 2 bytes across each border: 25 µs; six of them are not hidden.
  EXPECT_NEAR(forecast->exposed, 6 * 25e-6, 1e-12);
}

// 1,000 tokens × 1,000 × 2 bytes to two experts each: 4 MB, half of it to the other node: 0.2 ms.
TEST(Training, ExpertsExchangeTokens) {
  TrainingPlan experts = plan(2, 1);
  experts.expert = 2;
  experts.experts = 8;
  experts.experts_used = 2;
  experts.expert_share = 0.8;
  const auto forecast = forecast_training(experts);
  ASSERT_TRUE(forecast);
  EXPECT_NEAR(forecast->compute, 6 * (0.2 + 0.8 / 4), 1e-12);
  EXPECT_NEAR(forecast->gradient_bytes, 4e9 * (0.2 + 0.8 / 2), 1);
  EXPECT_NEAR(forecast->exchanges.at(1).exposed, 40 * 0.2e-3, 1e-6);
}

// Twice the parts on each stage halve the waiting, and more activations cross the borders.
TEST(Training, InterleavingShortensTheBubble) {
  TrainingPlan staged = plan(4, 1);
  staged.pipeline = 2;
  staged.micro_batches = 8;
  const auto whole = forecast_training(staged);
  staged.interleave = 5;
  const auto parts = forecast_training(staged);
  EXPECT_DOUBLE_EQ(parts->bubble, whole->bubble / 5);
  EXPECT_GT(parts->exchanges.back().seconds, whole->exchanges.back().seconds);
  staged.interleave = 6;  // of five blocks a stage
  EXPECT_FALSE(forecast_training(staged));
}

// Only the last of ten micro-batches has a backward pass with exchanges beneath it.
TEST(Training, AccumulatedGradientsAreExchangedOnce) {
  TrainingPlan slow = plan(2, 1);
  slow.cluster = cluster(2, 1, 1, 2);  // 2 s of exchange
  const auto whole = forecast_training(slow);
  slow.micro_batches = 10;
  const auto accumulated = forecast_training(slow);
  EXPECT_NEAR(accumulated->exchanges.at(0).seconds, whole->exchanges.at(0).seconds, 1e-9);
  EXPECT_GT(accumulated->exposed, whole->exposed + 1);
}

TEST(Training, MemoryAndRecomputingTakeTime) {
  TrainingPlan read = plan(1, 1);
  read.model = *find_model("llama3-8b");
  read.batch = 1;
  read.rates.matrix = 600e12;
  const double products = forecast_training(read)->compute;
  read.rates.memory = 2.7e12;
  const auto forecast = forecast_training(read);
  EXPECT_GT(forecast->compute, products * 1.03);
  EXPECT_LT(forecast->compute, products * 1.3);
  EXPECT_GT(forecast->optimizer, 0);
  read.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(forecast_training(read)->compute, forecast->compute * 4 / 3);
}

// Sharding, tensor groups, pipelines and experts, from one node on, on four fabrics.
TEST(Training, MoreNodesNeverMakeAGpuFaster) {
  struct Split {
    const char* name;
    Sharding sharding;
    int tensor, pipeline, expert;
  };
  constexpr Split kSplits[] = {
      {"ddp", Sharding::kNone, 1, 1, 1},         {"zero1", Sharding::kOptimizer, 1, 1, 1},
      {"fsdp", Sharding::kWeights, 1, 1, 1},     {"tensor", Sharding::kOptimizer, 8, 1, 1},
      {"pipeline", Sharding::kNone, 2, 4, 1},    {"stages", Sharding::kOptimizer, 1, 8, 1},
      {"experts", Sharding::kGradients, 1, 1, 8}};
  for (const char* nic : {"8x400ib", "2x100roce", "4x200libfabric", "1x10tcp"})
    for (const Split& split : kSplits) {
      TrainingPlan job;
      job.model = *find_model("7b");
      job.batch = 8;
      job.micro_batches = 4;
      job.sharding = split.sharding;
      job.tensor = split.tensor;
      job.pipeline = split.pipeline;
      job.expert = split.expert;
      job.experts = 8;
      job.expert_share = split.expert > 1 ? 0.8 : 0;
      ShapeWords words;
      words.gpu = "H100";
      words.nic = nic;
      double before = 0;
      for (const int nodes : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 48, 64, 100, 128, 500, 1024}) {
        words.nodes = nodes;
        job.cluster.shape = *shape_from_words(words);
        job.rates = *rates_of(job.shape(), MatrixType::kBf16);
        const auto forecast = forecast_training(job);
        ASSERT_TRUE(forecast) << split.name << forecast.error().text;
        EXPECT_GE(forecast->step, before * (1 - 1e-12)) << split.name << ' ' << nic << ' ' << nodes;
        before = forecast->step;
      }
    }
}

TEST(Training, NonsenseIsRefused) {
  TrainingPlan odd = plan(3, 1);
  odd.tensor = 2;
  EXPECT_FALSE(forecast_training(odd));
  odd = plan(2, 1);
  odd.cluster.shape.nics = 0;
  EXPECT_FALSE(forecast_training(odd));
  odd = plan(32, 1);
  odd.pipeline = 16;  // of ten blocks
  EXPECT_FALSE(forecast_training(odd));
}

// The guides' table on two of their nodes: two V100 each, at 40 % of 125 TFLOP/s, 4.55 GB/s a port.
TEST(NetworkNeeds, GrowWithGradientsAndShrinkWithTheBackwardPass) {
  TrainingPlan v100;
  v100.rates.matrix = 50e12;
  v100.cluster = cluster(2, 2, 1, 4.55);
  const double left = reached_of_adapter(v100.cluster) / v100.shape().nic_rate;
  const auto needs = network_needs(v100);
  ASSERT_EQ(needs.size(), 4u);
  EXPECT_EQ(needs[0].model, "ResNet-50");
  EXPECT_NEAR(needs[0].gradient_bytes, 102e6, 1e6);
  EXPECT_NEAR(needs[3].gradient_bytes, 6.23e9, 0.01e9);
  for (const NetworkNeed& need : needs)
    EXPECT_NEAR(need.least.gigabytes(), need.gradient_bytes / need.backward / left / 1e9, 1e-9);
  EXPECT_EQ(needs[0].verdict, NetworkNeed::Verdict::kBorderline);  // 25 MB of its 102 come last
  EXPECT_EQ(needs[3].verdict, NetworkNeed::Verdict::kTooSlow);
}

TEST(Checkpoint, TakesItsShareOfTheTime) {
  const auto forecast = forecast_checkpoint(1e9, {14, BitRate::gigabytes(2), 693, 0.01});
  EXPECT_DOUBLE_EQ(forecast.bytes, 14e9);
  EXPECT_DOUBLE_EQ(forecast.seconds, 7);
  EXPECT_DOUBLE_EQ(forecast.share, 0.01);
  EXPECT_NEAR(forecast.least.gigabytes(), 2, 1e-9);
}

TEST(Scaling, EndsWhereANodeBringsTooLittle) {
  TrainingPlan job = plan(1, 1);
  job.cluster = cluster(1, 1, 1, 2);
  const auto scaling = forecast_scaling(job, 0.5, 64);
  ASSERT_TRUE(scaling);
  ASSERT_GT(scaling->last, 1);
  EXPECT_LT(scaling->points.back().marginal, 0.5);
  EXPECT_EQ(scaling->points.back().nodes, scaling->last + 1);
  for (std::size_t i = 1; i + 1 < scaling->points.size(); ++i) EXPECT_GE(scaling->points[i].marginal, 0.5);
  // A hundred times the network carries it further.
  job.cluster = cluster(1, 1, 1, 200);
  const auto faster = forecast_scaling(job, 0.5, 64);
  EXPECT_TRUE(faster->last == 0 || faster->last > scaling->last);
}

ClusterShape shape_of(const char* gpu, int gpus, int nodes, const char* nic) {
  ShapeWords words;
  words.gpu = gpu;
  words.gpus = gpus;
  words.nodes = nodes;
  words.nic = nic;
  return *shape_from_words(words);
}

// Published results, as far as they state what was run. The errors are in docs/reference/predict-train.md.
// HPE HPC AI Environments README (Cray EX, 2024): PyTorch DDP, batch 32, images per second and GPU of four
// GH200 on one node and of eight on two, four Slingshot adapters of 200 Gb/s.
double gh200_efficiency(std::uint64_t parameters, double images_per_second) {
  TrainingPlan ddp;
  ddp.model = {"", "image", 0, 32, {}};
  constexpr std::uint64_t kLayers = 50;
  for (std::uint64_t i = 0; i < kLayers; ++i)
    ddp.model.layers.push_back({"", parameters / kLayers, {{1, 1, 1'000'000'000 / kLayers}}});
  ddp.batch = 32;
  ddp.cluster.shape = shape_of("GH200", 4, 1, "4x200libfabric");
  ddp.rates.matrix = 3 * 2e9 * 32 / (32 / images_per_second);
  const double one_node = forecast_training(ddp)->step;
  ddp.cluster.shape.nodes = 2;
  return one_node / forecast_training(ddp)->step;
}

TEST(Published, Gh200OnTwoNodesLosesLittle) {
  EXPECT_NEAR(gh200_efficiency(25'557'032, 1255), 1233.0 / 1255, 0.02);
  EXPECT_NEAR(gh200_efficiency(44'549'160, 703), 706.0 / 703, 0.02);
}

// pytorch/torchtitan benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md (2025-06): FSDP, sequences of
// 8,192, local batch 2, 10,938 tokens a second and GPU on 32 H200, 10,753 on 64; eight ConnectX-7 of 400 Gb/s
// a node.
TEST(Published, TorchtitanFrom32To64) {
  TrainingPlan fsdp;
  fsdp.model = model_of({8.03e9, 32, 4096, 8192});
  fsdp.batch = 2;
  fsdp.sharding = Sharding::kWeights;
  fsdp.cluster.shape = shape_of("H200", 8, 4, "8x400ib");
  fsdp.rates.matrix = 6 * 8.03e9 * 10938;
  const double on_32 = forecast_training(fsdp)->step;
  fsdp.cluster.shape.nodes = 8;
  EXPECT_NEAR(on_32 / forecast_training(fsdp)->step, 10753.0 / 10938, 0.02);
}

// bench/peers/train on two H100 (driver 580, NCCL 2.28.3, 2026-11): a step of BERT-Large, batch 32, took
// PyTorch 112.1 ms on one GPU and 120.7 ms on two, the rehearsal 117.9 ms. The computation is theirs, the
// loss is predicted.
TEST(Published, ExchangesOverNvlinkAreNotHidden) {
  TrainingPlan bert;
  bert.model = *find_model("bert-large");
  bert.batch = 32;
  bert.rates.matrix = step_flops(bert.model, 32) / 0.1121;
  bert.cluster.shape = shape_of("H100", 2, 1, "");
  const auto forecast = forecast_training(bert);
  ASSERT_TRUE(forecast);
  EXPECT_NEAR(forecast->step, 0.1179, 0.002);
  EXPECT_NEAR(forecast->step, 0.1207, 0.004);
}

}  // namespace
}  // namespace railbed

#include "predict/training.h"

#include <gtest/gtest.h>

#include <cmath>

namespace railbed {
namespace {

// A thousand million parameters in ten blocks, samples of one token: 6e9 operations each.
Model model() { return model_of({1e9, 10, 1000, 1}); }

// Adapters of 10 GB/s that collectives use in full; 1 TFLOP/s a GPU; 1,000 samples: 6 s of computing.
TrainingPlan plan(int nodes, int gpus_per_node) {
  TrainingPlan plan;
  plan.model = model();
  plan.batch = 1000;
  plan.flops_per_second = 1e12;
  plan.bucket_bytes = 1'000'000'000;
  plan.network = {nodes, gpus_per_node, 1, BitRate::gigabytes(10), {}, 1};
  return plan;
}

TEST(Exchange, AnAllReduceSendsWhatTheOthersLack) {
  const TrainingNetwork network{4, 1, 2, BitRate::gigabytes(10), {}, 1};
  EXPECT_DOUBLE_EQ(bytes_per_adapter(Exchange::kAllReduce, 1e9, {4, 1, 1}, network), 0.75e9);  // 2 · ¾ / 2
  EXPECT_DOUBLE_EQ(bytes_per_adapter(Exchange::kAllGather, 1e9, {4, 1, 1}, network), 0.375e9);
  EXPECT_DOUBLE_EQ(bytes_per_adapter(Exchange::kAllReduce, 1e9, {8, 8, 1}, network), 0);
  // 8.4 µs and two steps up, two down a tree of four.
  EXPECT_NEAR(exchange_seconds(Exchange::kAllReduce, 1e9, {4, 1, 1}, network), 0.075 + 64.4e-6, 1e-9);
}

TEST(Exchange, WithinANodeItsOwnLinksCount) {
  const TrainingNetwork network{1, 4, 1, {}, BitRate::gigabytes(100), 0.5};
  // 2 · ¾ · 1 GB at half of 100 GB/s, 8.4 µs and six steps of 3.4.
  EXPECT_NEAR(exchange_seconds(Exchange::kAllReduce, 1e9, {4, 4, 1}, network), 0.03 + 28.8e-6, 1e-9);
  EXPECT_DOUBLE_EQ(exchange_seconds(Exchange::kAllReduce, 1e9, {1, 1, 1}, network), 0);
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
  EXPECT_NEAR(forecast->exchanges.at(0).seconds, 0.4 + 5 * 36.4e-6, 1e-9);
  EXPECT_NEAR(forecast->exposed, 0.0998951424 + 36.4e-6, 1e-9);
  EXPECT_NEAR(forecast->step, 6 + forecast->exposed, 1e-12);
  // 2 (N − 1) / N · G / T_backward.
  EXPECT_NEAR(forecast->least_adapter.gigabytes(), 4.0 / 4, 1e-9);
}

TEST(Training, WhatOutlastsTheBackwardPassIsExposed) {
  TrainingPlan slow = plan(2, 1);
  slow.network.adapter = BitRate::gigabytes(0.5);  // 8 s of exchange, 4 s of backward pass
  slow.overlap = 0.5;                              // of which 2 s serve
  const auto forecast = forecast_training(slow);
  EXPECT_NEAR(forecast->exposed, 8 - 2, 1e-3);
  EXPECT_NEAR(forecast->least_adapter.gigabytes(), 2, 1e-9);
}

// Each block: 0.2 GB of 16-bit weights gathered twice, 0.4 GB of gradients scattered; of that one half passes
// to the other node: 10 ms, 10 ms, 20 ms.
TEST(Training, ShardedParametersAreGatheredTwice) {
  TrainingPlan sharded = plan(2, 1);
  sharded.sharded = true;
  const auto forecast = forecast_training(sharded);
  EXPECT_NEAR(forecast->exchanges.at(0).seconds, 10 * (0.010 + 0.010 + 0.020) + 30 * 22.4e-6, 1e-9);
  EXPECT_NEAR(forecast->exposed, 0.010 + 0.020 + 2 * 22.4e-6, 1e-9);
  EXPECT_DOUBLE_EQ(forecast->exchanges.at(0).adapter_bytes, 2 * 1e9 + 2e9);
}

// Two GPUs of one node share matrices: four all_reduces of 1,000 tokens × 1,000 × 2 bytes a block, at
// 10 GB/s: 0.2 ms and 15.2 µs each. Gradients of a GPU are half.
TEST(Training, TensorGroupsWaitForActivations) {
  TrainingPlan tensor = plan(2, 2);
  tensor.tensor = 2;
  tensor.network.inside = BitRate::gigabytes(10);
  const auto forecast = forecast_training(tensor);
  ASSERT_TRUE(forecast);
  EXPECT_DOUBLE_EQ(forecast->compute, 3);
  EXPECT_EQ(forecast->replicas, 2);
  EXPECT_DOUBLE_EQ(forecast->gradient_bytes, 2e9);
  EXPECT_NEAR(forecast->exchanges.at(1).exposed, 40 * (0.2e-3 + 15.2e-6), 1e-9);
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

// 1,000 tokens × 1,000 × 2 bytes to two experts each: 4 MB, half of it to the other node: 0.2 ms and 22.4 µs.
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
  EXPECT_NEAR(forecast->exchanges.at(1).exposed, 40 * (0.2e-3 + 22.4e-6), 1e-9);
}

TEST(Training, NonsenseIsRefused) {
  TrainingPlan odd = plan(3, 1);
  odd.tensor = 2;
  EXPECT_FALSE(forecast_training(odd));
  odd = plan(2, 1);
  odd.network.adapter = {};
  EXPECT_FALSE(forecast_training(odd));
  odd = plan(32, 1);
  odd.pipeline = 16;  // of ten blocks
  EXPECT_FALSE(forecast_training(odd));
}

// The guides' table on two of their nodes: two V100 each, at 40 % of 125 TFLOP/s, 4.55 GB/s a port.
TEST(NetworkNeeds, GrowWithGradientsAndShrinkWithTheBackwardPass) {
  TrainingPlan v100;
  v100.flops_per_second = 50e12;
  v100.network = {2, 2, 1, BitRate::gigabytes(4.55), BitRate::gigabytes(7), 0.9};
  const auto needs = network_needs(v100);
  ASSERT_EQ(needs.size(), 4u);
  EXPECT_EQ(needs[0].model, "ResNet-50");
  EXPECT_NEAR(needs[0].gradient_bytes, 102e6, 1e6);
  EXPECT_NEAR(needs[3].gradient_bytes, 6.23e9, 0.01e9);
  for (const NetworkNeed& need : needs)
    EXPECT_NEAR(need.least.gigabytes(), need.gradient_bytes / need.backward / 0.9 / 1e9, 1e-9);
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
  job.network.adapter = BitRate::gigabytes(2);
  const auto scaling = forecast_scaling(job, 0.5, 64);
  ASSERT_TRUE(scaling);
  ASSERT_GT(scaling->last, 1);
  EXPECT_LT(scaling->points.back().marginal, 0.5);
  EXPECT_EQ(scaling->points.back().nodes, scaling->last + 1);
  for (std::size_t i = 1; i + 1 < scaling->points.size(); ++i) EXPECT_GE(scaling->points[i].marginal, 0.5);
  // A hundred times the network carries it further.
  job.network.adapter = BitRate::gigabytes(200);
  const auto faster = forecast_scaling(job, 0.5, 64);
  EXPECT_TRUE(faster->last == 0 || faster->last > scaling->last);
}

// What other people published, as far as they say what was run. Errors stand in
// docs/reference/predict-train.md. HPE HPC AI Environments README (Cray EX, 2024): PyTorch DDP, batch 32,
// images a second and GPU of four GH200 on one node and of eight on two, four Slingshot adapters of 200 Gb/s.
double gh200_efficiency(std::uint64_t parameters, double images_per_second) {
  TrainingPlan ddp;
  ddp.model = {"", "image", 0, 32, {{"all", parameters, {{1, 1, 1'000'000'000}}}}};
  ddp.batch = 32;
  ddp.network = {1, 4, 4, BitRate::gigabits(200), BitRate::gigabytes(450), 0.9};
  ddp.flops_per_second = 3 * 2e9 * 32 / (32 / images_per_second);
  const double one_node = forecast_training(ddp)->step;
  ddp.network.nodes = 2;
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
  fsdp.sharded = true;
  fsdp.network = {4, 8, 8, BitRate::gigabits(400), BitRate::gigabytes(450), 0.9};
  fsdp.flops_per_second = 6 * 8.03e9 * 10938;
  const double on_32 = forecast_training(fsdp)->step;
  fsdp.network.nodes = 8;
  EXPECT_NEAR(on_32 / forecast_training(fsdp)->step, 10753.0 / 10938, 0.02);
}

}  // namespace
}  // namespace railbed

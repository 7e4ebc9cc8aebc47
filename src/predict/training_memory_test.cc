#include "predict/training_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr double kGib = 1ull << 30;

TrainingPlan seven_billion(const char* gpu, int gpus) {
  TrainingPlan plan;
  plan.model = *find_model("7b");
  plan.batch = 2;
  ShapeWords words;
  words.gpu = gpu;
  words.gpus = gpus;
  plan.cluster.shape = *shape_from_words(words);
  return plan;
}

// 2 bytes of weight, 4 of gradient, 12 of Adam.
TEST(TrainingMemory, SevenBillionWithPlainDdpDoNotFit16Gb) {
  const TrainingPlan plan = seven_billion("V100-SXM2-16GB", 8);
  const TrainingMemory memory = training_memory(plan, memory_of(plan.shape()));
  EXPECT_DOUBLE_EQ(memory.weights + memory.gradients + memory.optimizer, 6'738'415'616.0 * 18);
  EXPECT_DOUBLE_EQ(memory.capacity, 16 * kGib);
  EXPECT_EQ(memory.fit(), MemoryFit::kTooMuch);
}

TEST(TrainingMemory, OneChangeIsNamedIfItIsEnough) {
  const TrainingPlan plan = seven_billion("H100", 8);
  const double capacity = memory_of(plan.shape());
  ASSERT_EQ(training_memory(plan, capacity).fit(), MemoryFit::kTooMuch);
  const auto would = fitting_plans(plan, capacity);
  ASSERT_FALSE(would.empty());
  for (const FittingPlan& fitting : would) EXPECT_LE(fitting.bytes, capacity) << fitting.change;
  const auto fsdp = std::ranges::find(would, "--sharding fsdp", &FittingPlan::change);
  EXPECT_NE(fsdp, would.end());
}

TEST(TrainingMemory, SeveralChangesIfOneIsNotEnough) {
  TrainingPlan plan = seven_billion("RTX 4090", 8);
  plan.batch = 8;
  const auto would = fitting_plans(plan, memory_of(plan.shape()));
  ASSERT_EQ(would.size(), 1u);
  EXPECT_TRUE(would.front().change.starts_with("--sharding fsdp --micro-batches 8")) << would.front().change;
}

TEST(TrainingMemory, NothingMakesItFitOneSmallGpu) {
  const TrainingPlan plan = seven_billion("RTX 4090", 1);
  EXPECT_TRUE(fitting_plans(plan, memory_of(plan.shape())).empty());
}

TEST(TrainingMemory, AnUnknownSizeIsNoVerdict) {
  const TrainingPlan plan = seven_billion("A100", 8);  // of 40 or 80 GB
  EXPECT_EQ(memory_of(plan.shape()), 0);
  EXPECT_EQ(training_memory(plan, 0).fit(), MemoryFit::kUnknown);
}

TEST(TrainingMemory, NearItsLimitItDependsOnTheSoftware) {
  const TrainingMemory memory = training_memory(seven_billion("H100", 8), 0);
  const auto fit_in = [&](double capacity) {
    TrainingMemory there = memory;
    there.capacity = capacity;
    return there.fit();
  };
  EXPECT_EQ(fit_in(memory.all), MemoryFit::kTight);
  EXPECT_EQ(fit_in(memory.all + memory.activations), MemoryFit::kFits);
  EXPECT_EQ(fit_in(memory.all - memory.activations / 2), MemoryFit::kTooMuch);
}

TEST(TrainingMemory, ShrinksWithEachStepOfSharding) {
  TrainingPlan plan = seven_billion("H100", 8);
  double before = training_memory(plan, 0).all;
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kWeights}) {
    plan.sharding = sharding;
    const double all = training_memory(plan, 0).all;
    EXPECT_LT(all, before);
    before = all;
  }
  for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
    plan.recompute = recompute;
    const double all = training_memory(plan, 0).all;
    EXPECT_LT(all, before);
    before = all;
  }
}

// The first of four stages keeps four micro-batches, however many there are.
TEST(TrainingMemory, AStageKeepsAsManyMicroBatchesAsThereAreStages) {
  TrainingPlan plan = seven_billion("H100", 8);
  plan.pipeline = 4;
  plan.batch = 64;
  plan.micro_batches = 64;
  const double kept = training_memory(plan, 0).activations;
  plan.batch = 128;
  plan.micro_batches = 128;
  EXPECT_DOUBLE_EQ(training_memory(plan, 0).activations, kept);
}

}  // namespace
}  // namespace railbed

#include "model/training_step.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

StepPlan plan() {
  StepPlan plan;
  plan.flops_per_second = 100e12;
  return plan;
}

// Two layers of a million parameters, 1e12 operations forward each.
Model small() {
  return {"small",
          "sample",
          0,
          8,
          {{"first", 1'000'000, {{1000000, 500, 1000}}}, {"second", 1'000'000, {{1000000, 500, 1000}}}}};
}

TEST(MakeStep, EveryGradientIsInOneBucketAndInTime) {
  for (const auto word : model_words()) {
    const Model model = *find_model(word);
    const Step step = make_step(model, plan());
    EXPECT_EQ(step.bytes(), model.parameters() * 4);
    EXPECT_EQ(step.buckets.front().bytes, std::uint64_t{1} << 20);
    EXPECT_DOUBLE_EQ(step.compute, step_flops(model, 8) / 100e12);
    double before = step.compute / 3;  // nothing is ready during the forward pass
    for (const Bucket& bucket : step.buckets) {
      EXPECT_GE(bucket.ready, before);
      EXPECT_LE(bucket.bytes, std::uint64_t{25} << 20);
      before = bucket.ready;
    }
    EXPECT_LE(step.buckets.back().ready, step.compute * (1 + 1e-12));
  }
}

TEST(MakeStep, TheLastLayersGradientsComeFirst) {
  StepPlan step_plan = plan();
  step_plan.batch = 1;
  step_plan.flops_per_second = 1e12;
  step_plan.first_bucket_bytes = 4'000'000;
  step_plan.bucket_bytes = 4'000'000;
  const Step step = make_step(small(), step_plan);
  ASSERT_EQ(step.buckets.size(), 2u);
  EXPECT_DOUBLE_EQ(step.compute, 6);
  EXPECT_DOUBLE_EQ(step.buckets[0].ready,
                   4);  // 2 s forward, 2 s backward of the second layer
  EXPECT_DOUBLE_EQ(step.buckets[1].ready, 6);
}

TEST(Exposed, IsWhatOutlastsTheBackwardPass) {
  const Step step{6, {{4, 1'000'000}, {6, 1'000'000}}};
  // Two ranks send each byte once: 8 Mb per bucket.
  EXPECT_DOUBLE_EQ(exposed_seconds(step, 2, {8e6}),
                   1);                                   // only the last bucket's second
  EXPECT_DOUBLE_EQ(exposed_seconds(step, 2, {2e6}), 6);  // 4 to 8, then 8 to 12
  EXPECT_DOUBLE_EQ(exposed_seconds(step, 4, {12e6}),
                   1);  // three halves as much to send
  EXPECT_DOUBLE_EQ(exposed_seconds(step, 1, {1}), 0);
}

TEST(HidingRate, IsWhereTheShareIsJustReached) {
  const Step step{6, {{4, 1'000'000}, {6, 1'000'000}}};
  const BitRate rate = hiding_rate(step, 2, 0.05);
  EXPECT_NEAR(rate.bits_per_second, 8e6 / 0.3, 10);  // the last bucket in 0.3 s
  for (const auto word : model_words()) {
    const Step real = make_step(*find_model(word), plan());
    const BitRate needed = hiding_rate(real, 8, 0.05);
    EXPECT_LE(exposed_seconds(real, 8, needed), 0.05 * real.compute * (1 + 1e-9));
    EXPECT_GT(exposed_seconds(real, 8, needed * 0.99), 0.05 * real.compute);
  }
  EXPECT_EQ(hiding_rate(step, 1, 0.05).bits_per_second, 0);
}

}  // namespace
}  // namespace railbed

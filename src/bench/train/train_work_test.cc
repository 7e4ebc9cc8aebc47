#include "bench/train/train_work.h"

#include <gtest/gtest.h>

#include <numeric>

#include "bench/train/gpu_train.h"
#include "bench/train/measure_gpu_train.h"

namespace railbed {
namespace {

double flops_of(const std::vector<Product>& products) {
  double sum = 0;
  for (const Product& product : products)
    sum += 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
           static_cast<double>(product.k) * static_cast<double>(product.count);
  return sum;
}

double flops_of(const TrainWork& work) {
  double sum = flops_of(work.forward);
  for (const BackwardLayer& layer : work.backward) sum += flops_of(layer.products);
  return sum;
}

StepPlan plan_for(const Model& model) {
  StepPlan plan;
  plan.batch = model.batch;
  return plan;
}

TEST(TrainWork, MultipliesAndExchangesWhatTheModelSays) {
  for (const auto word : model_words()) {
    SCOPED_TRACE(word);
    const Model model = *find_model(word);
    const StepPlan plan = plan_for(model);
    const TrainWork work = make_work(model, plan);
    EXPECT_NEAR(flops_of(work) / step_flops(model, plan.batch), 1, 1e-12);
    EXPECT_EQ(std::accumulate(work.buckets.begin(), work.buckets.end(), std::uint64_t{0}),
              model.parameters() * plan.word_bytes);
    std::size_t complete = 0;
    for (const BackwardLayer& layer : work.backward) complete += layer.buckets;
    EXPECT_EQ(complete, work.buckets.size());
    EXPECT_GT(work.backward.back().buckets, 0U);  // the last gradients come last
  }
}

// A model whose weights alone exceed a GPU of 16 GiB is rehearsed on one of 80.
TEST(TrainWork, EveryUsualBatchFitsOnTheGpusOfItsModel) {
  for (const auto word : model_words()) {
    const Model model = *find_model(word);
    const std::uint64_t weights = 2 * model.parameters();
    const std::uint64_t gibibytes = weights < std::uint64_t{16} << 30 ? 14 : 76;
    const Operands most = largest_operands(make_work(model, plan_for(model)));
    constexpr std::uint64_t kGradients = std::uint64_t{1} << 30;  // at most: the gradients and their sums
    EXPECT_LT(2 * (most.inputs + most.outputs) + kGradients, gibibytes << 30) << word;
  }
}

TEST(TrainWork, LaysOutMatricesAsFrameworksDo) {
  const Model model{"one", "row", 0, 4, {{"layer", 100 * 30 + 30, {{10, 30, 100}}}}};
  StepPlan plan;
  plan.batch = 4;
  const TrainWork work = make_work(model, plan);
  ASSERT_EQ(work.forward.size(), 1U);
  const Product& forward = work.forward[0];
  EXPECT_EQ(forward.m, 30U);
  EXPECT_EQ(forward.n, 40U);  // rows of all samples
  EXPECT_EQ(forward.k, 100U);
  EXPECT_EQ(forward.lda, 104U);  // 100, padded
  EXPECT_EQ(forward.ldc, 32U);
  EXPECT_EQ(forward.a_elements(), 104U * 30);
  EXPECT_EQ(forward.b_elements(), 104U * 40);
  EXPECT_EQ(forward.c_elements(), 32U * 40);
  ASSERT_EQ(work.backward[0].products.size(), 2U);
  const Product& weights = work.backward[0].products[1];
  EXPECT_EQ(weights.c_elements(), 104U * 30);  // as the weights themselves
  EXPECT_EQ(weights.k, 40U);
}

TEST(TrainWork, ProductsWithoutWeightsAreOfEachSample) {
  const Model model{"one", "row", 0, 4, {{"attention", 0, {{10, 10, 64, 12}}}}};
  StepPlan plan;
  plan.batch = 4;
  const TrainWork work = make_work(model, plan);
  const Product& scores = work.forward.at(0);
  EXPECT_EQ(scores.n, 10U);
  EXPECT_EQ(scores.count, 48U);
}

TEST(Cublas, NoReleaseNewerThanTheDriverIsTried) {
  EXPECT_EQ(cublas_files(12).front(), "libcublas.so.12");
  EXPECT_EQ(cublas_files(14).front(), "libcublas.so.13");
  EXPECT_TRUE(cublas_files(10).empty());
  EXPECT_FALSE(CublasLibrary({}).error().empty());
}

TEST(CheckGpuTrain, RefusesWhatNoControllerAsks) {
  GpuTrainPlan plan;
  plan.model = "7b";
  EXPECT_TRUE(check_gpu_train(plan));
  const auto refused = [&](auto change) {
    GpuTrainPlan bad = plan;
    change(bad);
    return !check_gpu_train(bad);
  };
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.model = "9b"; }));
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.step.batch = 0; }));
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.step.word_bytes = 8; }));
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.step.bucket_bytes = 1; }));
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.seconds = 0; }));
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.patience = 1e9; }));
  EXPECT_TRUE(refused([](GpuTrainPlan& bad) { bad.place.ranks = -1; }));
}

TEST(GpuTrainReport, HoldsTheRateThatWasReachedAndTheBucketsAsTheyCame) {
  const Model model = *find_model("gpt2");
  const StepPlan plan = plan_for(model);
  GpuTrainResult result;
  result.times.compute = {0.1, 0.1, 0.1};
  result.times.step = {0.12, 0.12, 0.12};
  result.times.exchange = {0.05, 0.05, 0.05};
  result.means = {"13.1.0", "bf16", 1 << 30};
  result.nccl = "2.28.3";
  for (int i = 0; i < 2; ++i)
    result.ranks.push_back({i, "gpu01", 1, {i, "0000:1a:00.0", "NVIDIA H200", 0, 0}});
  const TrainReport report = report_of(model, plan, result);
  EXPECT_NEAR(report.flops_per_second, step_flops(model, plan.batch) / 0.1, 1);
  EXPECT_EQ(report.compute_kind, "cuBLAS bf16 on NVIDIA H200");
  EXPECT_EQ(report.libraries, "NCCL 2.28.3, cuBLAS 13.1.0");
  EXPECT_NEAR(report.exposed, 0.02, 1e-12);
  EXPECT_NEAR(report.efficiency, 0.1 / 0.12, 1e-12);
  // If all buckets are ready late, little computing is left to hide their exchange.
  result.ready.assign(report.buckets, 0.99);
  const TrainReport late = report_of(model, plan, result);
  EXPECT_GT(late.predicted_exposed, report.predicted_exposed);
  EXPECT_GT(late.hiding_rate, report.hiding_rate);
}

TEST(GpuTrainPatience, GrowsWithTheModelAndTheBatch) {
  GpuTrainPlan plan;
  plan.model = "resnet50";
  const double small = train_patience(plan);
  EXPECT_GT(small, 60);
  plan.step.batch = 4096;
  EXPECT_GT(train_patience(plan), small);
  plan.model = "7b";
  EXPECT_GT(train_patience(plan), 400);
}

}  // namespace
}  // namespace railbed

#include "report/text/training_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

TrainingPlan plan_on(const char* gpu, int gpus) {
  TrainingPlan plan;
  plan.model = *find_model("7b");
  plan.batch = 2;
  ShapeWords words;
  words.gpu = gpu;
  words.gpus = gpus;
  plan.cluster.shape = *shape_from_words(words);
  return plan;
}

std::string memory_text_of(const TrainingPlan& plan) {
  const double capacity = memory_of(plan.shape());
  return training_memory_text(plan, training_memory(plan, capacity), fitting_plans(plan, capacity));
}

TEST(TrainingMemoryText, SaysWhatDoesNotFitAndWhatWould) {
  const std::string text = memory_text_of(plan_on("V100-SXM2-16GB", 8));
  EXPECT_THAT(text, HasSubstr("it does not fit: 7B with ddp needs"));
  EXPECT_THAT(text, HasSubstr("a GPU has 16 GiB"));
  EXPECT_THAT(text, HasSubstr("--sharding fsdp"));
  EXPECT_THAT(memory_text_of(plan_on("V100-SXM2-16GB", 1)), HasSubstr("more GPUs, or larger ones"));
}

TEST(TrainingMemoryText, AnUnknownSizeIsAskedFor) {
  const std::string text = memory_text_of(plan_on("A100", 8));
  EXPECT_THAT(text, HasSubstr("how much memory A100 has is not known: --gpu-memory"));
  EXPECT_THAT(text, Not(HasSubstr("fit:")));
}

TEST(GoodputText, NamesAssumptionsAndPricesOnlyIfThereAreAny) {
  GoodputPlan plan;
  plan.nodes = 128;
  plan.checkpoint_bytes = 1e12;
  plan.storage = BitRate::gigabytes(10);
  std::string text = goodput_text(plan, forecast_goodput(plan), "");
  EXPECT_THAT(text, HasSubstr("a checkpoint of 1 TB takes 100 s"));
  EXPECT_THAT(text, HasSubstr("a broken node is back after 24 h"));
  EXPECT_THAT(text, HasSubstr("--gpu-watts"));
  EXPECT_THAT(text, Not(HasSubstr("EUR")));
  plan.gpu_hour = 2;
  text = goodput_text(plan, forecast_goodput(plan), "EUR");
  EXPECT_THAT(text, HasSubstr("EUR a day"));
}

}  // namespace
}  // namespace railbed

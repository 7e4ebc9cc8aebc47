#include "model/trained_models.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

std::uint64_t parameters_of(std::string_view word) { return find_model(word)->parameters(); }

// Counts of torchvision, Hugging Face's models and the LLaMA paper's checkpoint.
TEST(Models, HaveAsManyParametersAsThePublishedOnes) {
  EXPECT_EQ(parameters_of("resnet50"), 25'557'032u);
  EXPECT_EQ(parameters_of("bert-base"), 109'482'240u);
  EXPECT_EQ(parameters_of("bert-large"), 335'141'888u);
  EXPECT_EQ(parameters_of("gpt2"), 124'439'808u);
  EXPECT_EQ(parameters_of("gpt2-xl"), 1'557'611'200u);
  EXPECT_EQ(parameters_of("7b"), 6'738'415'616u);
  EXPECT_EQ(parameters_of("llama3-8b"), 8'030'261'248u);
  EXPECT_EQ(parameters_of("llama3-70b"), 70'553'706'496u);
  EXPECT_EQ(parameters_of("llama3-405b"), 405'853'388'800u);
  EXPECT_NEAR(static_cast<double>(parameters_of("gpt3-175b")), 174.6e9, 0.1e9);
}

TEST(Models, CostWhatIsPublishedToo) {
  // torchvision states 4.09 billion multiply-adds.
  EXPECT_NEAR(find_model("resnet50")->forward_flops() / 2, 4.09e9, 0.01e9);
  // Two operations for each weight and token, attention beside (Kaplan et al.
  // 2020): a few percent more.
  const Model seven = *find_model("7b");
  const double weights = static_cast<double>(seven.parameters() - 32000ull * 4096) * 2 * 2048;
  EXPECT_GT(seven.forward_flops(), weights);
  EXPECT_LT(seven.forward_flops(), weights * 1.10);
}

TEST(Models, EveryWordIsAModel) {
  for (const auto word : model_words()) {
    const auto model = find_model(word);
    ASSERT_TRUE(model) << word;
    EXPECT_GT(model->forward_flops(), 1e9);
    EXPECT_EQ(model->tokens == 0, model->sample == "image");
  }
  EXPECT_FALSE(find_model("gpt5"));
}

}  // namespace
}  // namespace railbed

#include "report/train_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/train/measure_train.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TrainReport train_report() {
  const Model model = *find_model("gpt2");
  StepPlan plan;
  plan.flops_per_second = 100e12;
  const Step step = make_step(model, plan);
  TrainResult result;
  result.compute = {0.1, 0.1, 0.1};
  result.step = {0.25, 0.25, 0.25};
  result.exchange = {0.2, 0.2, 0.2};
  result.checked_bytes = 1 << 20;
  TrainReport report = report_of(model, plan, step, 3, result);
  report.nodes = {"gpu01", "gpu01", "gpu02"};
  report.transport = "TCP";
  return report;
}

TEST(TrainText, SaysWhatIsSimulatedAndWhatIsNot) {
  const std::string text = train_text(train_report());
  EXPECT_THAT(text, HasSubstr("training GPT-2, 3 ranks over TCP: gpu01 ×2, gpu02"));
  EXPECT_THAT(text, HasSubstr("rehearsed on CPUs: compute is simulated at 100 TFLOP/s a rank"));
  EXPECT_THAT(text, HasSubstr("124 million parameters, 498 MB of gradients (4 bytes each)"));
  EXPECT_THAT(text, HasSubstr("sums checked: 1 MiB, all exact"));
}

TEST(TrainText, SaysWhatGpusReached) {
  TrainReport report = train_report();
  report.on_gpus = true;
  report.transport = "NCCL";
  report.compute_kind = "cuBLAS bf16 on NVIDIA H200";
  report.libraries = "NCCL 2.28.3, cuBLAS 13.1.0";
  report.flops_per_second = 500e12;
  report.peak_flops = 800e12;
  report.memory_bytes = 1 << 30;
  const std::string text = train_text(report);
  EXPECT_THAT(text, HasSubstr("3 ranks over NCCL"));
  EXPECT_THAT(text,
              HasSubstr("computed by cuBLAS bf16 on NVIDIA H200: 500 TFLOP/s a GPU, 62 % of 800 TFLOP/s"));
  EXPECT_THAT(text, HasSubstr("NCCL 2.28.3, cuBLAS 13.1.0; the rehearsal takes 1 GiB of each GPU"));
  EXPECT_THAT(text, Not(HasSubstr("simulated")));
}

TEST(TrainText, OneRankHasNoExchange) {
  TrainReport report = train_report();
  report.nodes = {"gpu01"};
  const std::string text = train_text(report);
  EXPECT_THAT(text, HasSubstr("1 rank over"));
  EXPECT_THAT(text, HasSubstr("throughput"));
  EXPECT_THAT(text, Not(HasSubstr("scaling efficiency")));
  EXPECT_THAT(text, Not(HasSubstr("exchange alone")));
}

TEST(TrainText, NamesTheCostOfTheExchange) {
  const std::string text = train_text(train_report());
  EXPECT_THAT(text, HasSubstr("150 ms of a step, 60 %"));
  EXPECT_THAT(text, HasSubstr("scaling efficiency  40.0 %"));
  EXPECT_THAT(text, HasSubstr("tokens/s"));
  EXPECT_THAT(text, HasSubstr("the exchange hides  from"));
}

TEST(TrainText, AFailureSaysItsCauseAndNoEmptyNumbers) {
  TrainReport report = train_report();
  report.rounds = 0;
  report.failure = Failure{"run", "gpu02 closed the connection\x1b[2J", "look at gpu02"};
  const std::string text = train_text(report);
  EXPECT_THAT(text, HasSubstr("FAILED (run): gpu02 closed"));
  EXPECT_THAT(text, HasSubstr("do: look at gpu02"));
  EXPECT_THAT(text, Not(HasSubstr("scaling efficiency")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace railbed

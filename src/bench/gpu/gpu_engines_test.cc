// The GPU engines whole, in their child process, against a CUDA and an NCCL made for it
// (testing/fake_gpu.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "bench/collective/measure_collective.h"
#include "bench/core/child_session.h"
#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "bench/gpu/gpu_copy.h"
#include "bench/train/measure_gpu_train.h"
#include "facts/facts.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const NvidiaLibraries kFake{{}, {RAILBED_FAKE_GPU}, std::chrono::seconds(60)};

class GpuEngines : public ::testing::Test {
 protected:
  // The engines run in a fork of a program with threads. glibc prepares its locks for that; the sanitizer
  // does not, and the child sometimes waits for a lock whose holder does not exist in the child.
  void SetUp() override {
    if (RAILBED_SANITIZED) GTEST_SKIP() << "the address sanitizer does not survive a fork among threads";
  }
  void TearDown() override { unsetenv("RAILBED_FAKE_FAULT"); }
  static void break_it(const char* how) { setenv("RAILBED_FAKE_FAULT", how, 1); }

  CollectiveReport collective(CollectivePlan plan) {
    plan.place.library = RAILBED_FAKE_GPU;
    return measure_collective({{&peer_, gpus_}}, plan, std::chrono::steady_clock::now(),
                              {[](std::string_view) {}, [&](std::string_view text) { log_ += text; }}, {});
  }
  static CollectivePlan plan(Collective operation, DataType type = DataType::kFloat32) {
    CollectivePlan plan;
    plan.operation = operation;
    plan.type = type;
    plan.sizes = {64, 4096, 2 << 20};
    plan.iterations = 3;
    plan.in_place = true;
    plan.root = 2;
    return plan;
  }

  // Two GPUs, 16-bit inputs, 32-bit gradients.
  static GpuTrainPlan train_plan() {
    GpuTrainPlan plan;
    plan.model = "resnet50";
    plan.step.batch = 1;
    plan.seconds = 0.01;
    plan.cublas = RAILBED_FAKE_GPU;
    plan.place.library = RAILBED_FAKE_GPU;
    return plan;
  }
  GpuTrainResult train(const GpuTrainPlan& plan) {
    return measure_gpu_train({{&peer_, {0, 2}}}, plan, {[](auto) {}, [](auto) {}}, {});
  }

  LocalPeer peer_{"here", gpu_handlers(kFake)};
  std::vector<int> gpus_;
  std::string log_;
};

TEST_F(GpuEngines, NcclTakesTheNamedNetworkAndNoOther) {
  const auto log_with = [&](NcclNetwork network) {
    CollectivePlan one = plan(Collective::kAllReduce);
    one.sizes = {64};
    one.root = 0;
    one.place.library = RAILBED_FAKE_GPU;
    log_.clear();
    const auto report =
        measure_collective({{&peer_, {0, 1}, std::move(network)}}, one, std::chrono::steady_clock::now(),
                           {[](std::string_view) {}, [&](std::string_view text) { log_ += text; }}, {});
    EXPECT_FALSE(report.failure) << report.failure->cause;
    return log_;
  };
  EXPECT_THAT(log_with({"mlx5_1:1", ""}), HasSubstr("NCCL_IB_HCA set by environment to =mlx5_1:1\n"));
  EXPECT_THAT(log_, Not(HasSubstr("NCCL_NET")));
  EXPECT_THAT(log_with({"", "eth0"}), HasSubstr("NCCL_SOCKET_IFNAME set by environment to =eth0\n"));
  EXPECT_THAT(log_, HasSubstr("NCCL_NET set by environment to Socket\n"));
  EXPECT_THAT(log_with({}), Not(HasSubstr("set by environment")));
}

TEST(CheckPlace, RefusesWhatIsNoNameOfADevice) {
  NodePlace place;
  place.network = {"mlx5_0:1", "ens6np0.100"};
  EXPECT_TRUE(check_place(place));
  for (const char* name : {"mlx5_0,mlx5_1", "eth0 eth1", "a=b", "../x", "^mlx5"}) {
    place.network = {name, ""};
    EXPECT_FALSE(check_place(place)) << name;
  }
  place.network = {"", std::string(65, 'e')};
  EXPECT_FALSE(check_place(place));
  place = {};
  place.ranks = -1;
  EXPECT_FALSE(check_place(place));
}

TEST_F(GpuEngines, EveryOperationBringsTheRightDataToEveryRank) {
  for (int i = 0; i < static_cast<int>(enum_names(Collective{}).size()); ++i) {
    const auto operation = static_cast<Collective>(i);
    SCOPED_TRACE(to_text(operation));
    const auto report = collective(plan(operation));
    ASSERT_FALSE(report.failure) << report.failure->cause;
    EXPECT_EQ(report.version, "2.99.1");
    EXPECT_EQ(report.ranks.size(), 3U);
    EXPECT_EQ(report.ranks[2].gpu.address, "0000:1c:00.0");
    EXPECT_GT(report.first_result, 0);
    ASSERT_EQ(report.rows.size(), 3U);
    for (const CollectiveRow& row : report.rows) {
      EXPECT_TRUE(row.checked);
      EXPECT_EQ(row.wrong, 0U) << row.bytes;
      EXPECT_EQ(row.in_place_wrong, 0U) << row.bytes;
      EXPECT_GT(row.busbw, 0);
      ASSERT_TRUE(row.graph);
      EXPECT_GT(row.graph->median, 0);
      ASSERT_TRUE(row.in_place);
    }
  }
}

TEST_F(GpuEngines, WrongDataIsCountedOnce) {
  break_it("wrong");
  const auto report = collective(plan(Collective::kAllReduce, DataType::kInt32));
  ASSERT_EQ(report.rows.size(), 3U);
  // Rank 1's first element: of the launched operations, of the graph's, and in place.
  EXPECT_EQ(report.rows[0].wrong, 2U);
  EXPECT_EQ(report.rows[0].in_place_wrong, 1U);
  EXPECT_EQ(report.first_result, 0);
  const auto kept = collective_measurements(report);
  ASSERT_TRUE(kept.front().failure);
  EXPECT_EQ(kept.front().wrong_bytes, 12U);
}

TEST_F(GpuEngines, ASoakGoesOnWithTheLargestSize) {
  CollectivePlan soak = plan(Collective::kAllReduce);
  soak.root = 0;
  soak.soak = 2;
  soak.sizes = {4096, 1 << 20};
  soak.flip_rank = 1;
  const auto report = collective(soak);
  ASSERT_FALSE(report.failure) << report.failure->cause;
  ASSERT_GT(report.rows.size(), 2U);
  EXPECT_EQ(report.rows.front().bytes, 4096U);
  EXPECT_EQ(report.rows.back().bytes, 1U << 20);
  EXPECT_GT(report.rows.back().busbw, 0);
  EXPECT_EQ(report.rows.front().wrong, 1U);
  EXPECT_THAT(report.rows.front().wrong_ranks, ElementsAre(1));
  for (std::size_t i = 1; i < report.rows.size(); ++i) {
    EXPECT_TRUE(report.rows[i].checked);
    EXPECT_EQ(report.rows[i].wrong, 0U);
  }
}

TEST_F(GpuEngines, OnlyTheGpusThatWereAskedFor) {
  gpus_ = {0, 2};
  auto two = plan(Collective::kAllGather);
  two.root = 0;
  const auto report = collective(two);
  ASSERT_FALSE(report.failure) << report.failure->cause;
  ASSERT_EQ(report.ranks.size(), 2U);
  EXPECT_EQ(report.ranks[1].gpu.ordinal, 2);
  gpus_ = {7};
  EXPECT_THAT(collective(two).failure->cause, HasSubstr("there is no GPU 7"));
}

TEST_F(GpuEngines, SizesThatWouldTakeTooMuchMemoryAreCutOnEveryRank) {
  break_it("full");  // 1 MiB is free: 512 KiB may be taken
  const auto report = collective(plan(Collective::kAllReduce));
  ASSERT_FALSE(report.failure) << report.failure->cause;
  EXPECT_EQ(report.cut, "cut to 256 KiB: the GPU has 1 MiB free");
  ASSERT_EQ(report.rows.size(), 3U);
  EXPECT_EQ(report.rows.back().bytes, 256U << 10);
  EXPECT_EQ(report.rows.back().wrong, 0U);
}

TEST_F(GpuEngines, ARankThatHangsIsGivenUpAndTheStepNamed) {
  break_it("hang");
  auto impatient = plan(Collective::kAllReduce);
  impatient.patience = 1;
  const auto report = collective(impatient);
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(report.failure->cause, HasSubstr("hangs in: "));
  EXPECT_TRUE(report.rows.empty());
}

TEST_F(GpuEngines, WhatNcclRefusesIsSaidAndItsLogIsRead) {
  break_it("refuse");
  const auto report = collective(plan(Collective::kAllReduce));
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(report.failure->cause, HasSubstr("ncclCommInitRank: fake system error (2)"));
  EXPECT_THAT(log_, HasSubstr("NCCL INFO Using network Socket\n"));
}

TEST_F(GpuEngines, ALibraryThatDiesTakesNobodyAlong) {
  break_it("die");
  const auto report = collective(plan(Collective::kAllReduce));
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(report.failure->cause, HasSubstr("ended the process"));
}

TEST_F(GpuEngines, NoLibraryIsSaid) {
  CollectivePlan none = plan(Collective::kAllReduce);
  none.place.library = "/nowhere/libnccl.so.2";
  const auto report = measure_collective({{&peer_, {}}}, none, {}, {[](auto) {}, [](auto) {}}, {});
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(report.failure->cause, HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_EQ(report.failure->kind, FailureKind::kNoNccl);
}

TEST_F(GpuEngines, TrainingTakesTurnsAndSumsExactly) {
  const auto result = train(train_plan());
  ASSERT_FALSE(result.times.failure) << result.times.failure->cause;
  EXPECT_GE(result.times.step.size(), static_cast<std::size_t>(kFewestRounds));
  EXPECT_EQ(result.times.exchange.size(), result.times.step.size());
  EXPECT_EQ(result.times.compute.size(), result.times.step.size());
  ASSERT_EQ(result.ranks.size(), 2U);
  EXPECT_EQ(result.ranks[1].gpu.ordinal, 2);
  EXPECT_EQ(result.means.type, "bf16");
  EXPECT_EQ(result.means.cublas, "12.1.2");
  EXPECT_EQ(result.nccl, "2.99.1");
  ASSERT_EQ(result.ready.size(), make_step(*find_model("resnet50"), StepPlan()).buckets.size());
  EXPECT_GT(result.ready.front(), 0);
  EXPECT_LE(result.ready.front(), result.ready.back());
  EXPECT_LE(result.ready.back(), 1.0001);
  // The gradients of both GPUs: those of the rounds, and those that were exchanged once more.
  EXPECT_GE(result.times.checked_bytes, 4 * find_model("resnet50")->parameters() * 4);
  EXPECT_EQ(result.times.wrong_bytes, 0U);
}

TEST_F(GpuEngines, OneGpuTrainsAloneAndExchangesNothing) {
  const auto result = measure_gpu_train({{&peer_, {1}}}, train_plan(), {[](auto) {}, [](auto) {}}, {});
  ASSERT_FALSE(result.times.failure) << result.times.failure->cause;
  EXPECT_GE(result.times.step.size(), static_cast<std::size_t>(kFewestRounds));
  EXPECT_EQ(result.times.checked_bytes, 0U);
}

TEST_F(GpuEngines, AStepIsStretchedToWhatTheOwnOneTakes) {
  auto stretched = train_plan();
  stretched.stretch_to = 0.05;
  const auto result = train(stretched);
  ASSERT_FALSE(result.times.failure) << result.times.failure->cause;
  EXPECT_EQ(result.times.wrong_bytes, 0U);
  // The fake's products take no time, so all the time is that of the other work.
  EXPECT_GT(*std::ranges::max_element(result.times.compute), 0.005);
}

TEST_F(GpuEngines, AStepShorterThanItsProductsIsRefused) {
  auto impossible = train_plan();
  impossible.stretch_to = 1e-9;
  EXPECT_THAT(train(impossible).times.failure->cause, HasSubstr("the products of a step alone take"));
}

TEST_F(GpuEngines, GradientsThatAreSummedWrongFailTheTraining) {
  break_it("wrong");
  auto small = train_plan();
  small.step.bucket_bytes = 64 << 20;
  const auto result = train(small);
  ASSERT_TRUE(result.times.failure);
  EXPECT_EQ(result.times.failure->stage, "verify");
  // The first element of each bucket of rank 1: of 1 MiB and of 64 MiB twice, in the rounds and once more.
  EXPECT_EQ(result.times.wrong_bytes, 2U * 3 * 4);
}

TEST_F(GpuEngines, TrainingSaysWhatIsMissingAndWhereItLooked) {
  auto none = train_plan();
  none.cublas = "/nowhere/libcublas.so.12";
  EXPECT_THAT(train(none).times.failure->cause, HasSubstr("/nowhere/libcublas.so.12"));
  EXPECT_EQ(train(none).times.failure->kind, FailureKind::kNoCublas);
  none = train_plan();
  none.place.library = "/nowhere/libnccl.so.2";
  EXPECT_THAT(train(none).times.failure->cause, HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_EQ(train(none).times.failure->kind, FailureKind::kNoNccl);
}

TEST_F(GpuEngines, ABatchThatDoesNotFitIsRefusedBeforeItIsTried) {
  break_it("full");
  EXPECT_THAT(train(train_plan()).times.failure->cause, HasSubstr("take a smaller --batch"));
}

TEST_F(GpuEngines, ARankThatDiesEndsTheTraining) {
  break_it("die");
  EXPECT_THAT(train(train_plan()).times.failure->cause, HasSubstr("ended the process"));
}

TEST_F(GpuEngines, AStopEndsTheTraining) {
  auto endless = train_plan();
  endless.seconds = 3600;
  std::stop_source stop;
  const auto result = measure_gpu_train({{&peer_, {0, 1}}}, endless,
                                        {[&](std::string_view step) {
                                           if (step.starts_with("training")) stop.request_stop();
                                         },
                                         [](auto) {}},
                                        stop.get_token());
  ASSERT_TRUE(result.times.failure);
  EXPECT_EQ(result.times.failure->cause, "stopped on request");
}

TEST_F(GpuEngines, CopiesOfEveryKindArriveAsTheyWereSent) {
  GpuCopyPlan small;
  small.bytes = 64 << 10;
  small.samples = 6;
  const auto report = measure_gpu_copies(peer_, small, [](auto) {}, {});
  ASSERT_FALSE(report.failure) << report.failure->cause;
  ASSERT_EQ(report.gpus.size(), 3U);
  // Three GPUs: to, from and both ways, within; six directed pairs, three both ways.
  const auto kept = copy_measurements(report, "here", Facts());
  std::set<std::string> names;
  for (const Measurement& measurement : kept) {
    names.insert(measurement.operation);
    EXPECT_EQ(measurement.summary.samples, 6U) << measurement.operation;
    EXPECT_FALSE(measurement.failure) << measurement.operation;
    EXPECT_GE(measurement.checked_bytes, small.bytes);
  }
  EXPECT_EQ(names.size(), 3U * 4 + 6 + 3);
  EXPECT_TRUE(names.contains("host → GPU 0"));
  EXPECT_TRUE(names.contains("GPU 2 → GPU 1"));
  EXPECT_TRUE(names.contains("GPU 1 ↔ GPU 2"));
}

TEST_F(GpuEngines, CopiesThatWouldTakeTooMuchMemoryAreCut) {
  break_it("full");  // 1 MiB is free: 512 KiB may be taken, half of it for each buffer
  GpuCopyPlan large;
  large.samples = 2;
  large.gpus = {0};
  const auto report = measure_gpu_copies(peer_, large, [](auto) {}, {});
  ASSERT_FALSE(report.failure) << report.failure->cause;
  EXPECT_EQ(report.cut, "cut to 256 KiB: the GPU has 1 MiB free");
  EXPECT_EQ(copy_measurements(report, "here", Facts()).front().message_bytes, 256U << 10);
}

TEST_F(GpuEngines, CopiesThatArriveWrongFail) {
  break_it("wrong");
  GpuCopyPlan small;
  small.bytes = 4096;
  small.samples = 6;
  small.gpus = {0, 1};
  const auto report = measure_gpu_copies(peer_, small, [](auto) {}, {});
  const auto kept = copy_measurements(report, "here", Facts());
  ASSERT_EQ(kept.size(), 2U * 4 + 2 + 1);
  for (const Measurement& measurement : kept)
    EXPECT_EQ(measurement.failure.has_value(), measurement.from.interface != "host" &&
                                                   measurement.from.device != measurement.to.device &&
                                                   measurement.to.interface != "host")
        << measurement.operation;
}

}  // namespace
}  // namespace railbed

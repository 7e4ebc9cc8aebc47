#include "bench/train/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "bench/core/ask_all.h"
#include "bench/core/local_peer.h"
#include "bench/engines/handlers.h"
#include "bench/train/measure_train.h"
#include "host/open.h"

namespace railbed {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

const IpAddress kTrainLoopback = *IpAddress::parse("127.0.0.1");

// Two buckets of a little more than a million bytes, in a step of 20 ms.
Step short_step() { return {0.020, {{0.010, 1'000'100}, {0.020, 1'000'000}}}; }

class TrainTest : public testing::Test {
 protected:
  explicit TrainTest(int ranks = 3) {
    for (int i = 0; i < ranks; ++i)
      peers_.emplace_back("node" + std::to_string(i), bench_handlers(open_this_machine()));
    for (LocalPeer& peer : peers_) ends_.push_back({&peer, "lo", kTrainLoopback, nullptr});
  }
  std::deque<LocalPeer> peers_;
  std::vector<PairEnd> ends_;
};

TEST_F(TrainTest, EveryRoundHasAllThreeTimesAndExactSums) {
  for (const int word_bytes : {2, 4}) {
    const TrainResult result = measure_train(ends_, Engine::kTcp, short_step(), word_bytes, 0.1, {});
    ASSERT_FALSE(result.failure) << result.failure->cause;
    EXPECT_GE(result.step.size(), static_cast<std::size_t>(kFewestRounds));
    EXPECT_EQ(result.step.size(), result.exchange.size());
    EXPECT_EQ(result.step.size(), result.compute.size());
    EXPECT_THAT(result.compute,
                Each(Gt(0.0199)));  // it never computes faster than the GPU would
    EXPECT_THAT(result.step, Each(Gt(0.0199)));
    EXPECT_GT(result.checked_bytes, 0u);
    EXPECT_EQ(result.wrong_bytes, 0u);
  }
}

TEST_F(TrainTest, AllRanksMayLiveOnOneNode) {
  for (PairEnd& end : ends_) end.peer = &peers_.front();
  const TrainResult result = measure_train(ends_, Engine::kTcp, short_step(), 4, 0.1, {});
  EXPECT_FALSE(result.failure) << result.failure->cause;
  EXPECT_GE(result.step.size(), static_cast<std::size_t>(kFewestRounds));
}

TEST_F(TrainTest, AStopEndsEveryRank) {
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  const TrainResult result = measure_train(ends_, Engine::kTcp, {30, {{30, 1000}}}, 4, 600, stop.get_token());
  ASSERT_TRUE(result.failure);
  EXPECT_THAT(result.failure->cause, HasSubstr("stopped"));
}

// A rank whose agent dies in the middle of a step.
class PeerThatDies : public Peer {
 public:
  explicit PeerThatDies(Peer& inner) : inner_(inner) {}
  const std::string& node() const override { return inner_.node(); }
  Result<std::string> call(std::string_view method, std::string params, std::chrono::milliseconds deadline,
                           std::stop_token stop) override {
    if (method != kTrainRun) return inner_.call(method, std::move(params), deadline, stop);
    std::stop_source dying;
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      dying.request_stop();
    });
    (void)inner_.call(method, std::move(params), deadline, dying.get_token());
    return fail(ErrorKind::kUnavailable, "the connection was lost");
  }

 private:
  Peer& inner_;
};

TEST_F(TrainTest, ANodeThatDiesMidStepEndsEverythingWithItsName) {
  PeerThatDies dying(peers_[1]);
  ends_[1].peer = &dying;
  const TrainResult result = measure_train(ends_, Engine::kTcp, {1, {{1, 1000}}}, 4, 600, {});
  ASSERT_TRUE(result.failure);
  EXPECT_THAT(result.failure->cause, HasSubstr("the agent on node1: the connection was lost"));
}

TEST_F(TrainTest, ANodeThatCannotListenIsNamed) {
  ends_[2].address = *IpAddress::parse("192.0.2.7");  // reserved for documentation (RFC 5737)
  const TrainResult result = measure_train(ends_, Engine::kTcp, short_step(), 4, 0.1, {});
  ASSERT_TRUE(result.failure);
  EXPECT_THAT(result.failure->cause, HasSubstr("node2"));
}

TEST(CheckRun, RefusesWhatNoControllerAsks) {
  TrainRun run;
  run.step = short_step();
  run.seconds = 1;
  EXPECT_TRUE(check_run(run));
  const auto refused = [&](auto change) {
    TrainRun bad = run;
    change(bad);
    return !check_run(bad);
  };
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.ranks = 1; }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.rank = 2; }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.word_bytes = 3; }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.seconds = -1; }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.step.buckets.clear(); }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.step.buckets[0].bytes = std::uint64_t{1} << 40; }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.step.buckets[0].ready = 1; }));
  EXPECT_TRUE(refused([](TrainRun& bad) { bad.step.compute = 1e9; }));
}

TrainRan failed(const std::string& cause, FailureKind kind = FailureKind::kOther) {
  TrainRan ran;
  ran.failure = Failure{"run", cause, ""};
  ran.kind = kind;
  return ran;
}

TEST(TrainCause, TheOneWhoSawItBeatsThoseWhoSawTheEnd) {
  const std::vector<std::string> nodes = {"a", "b", "c"};
  Answers<TrainRan> answers;
  answers.ends = {failed("c closed the connection before the end", FailureKind::kClosed),
                  failed("no data from a for 4 s"), TrainRan()};
  answers.order = {0, 1, 2};
  EXPECT_EQ(train_cause(nodes, answers)->cause, "no data from a for 4 s");
  answers.ends[2] = fail(ErrorKind::kCancelled, "stopped");
  EXPECT_EQ(train_cause(nodes, answers)->cause,
            "no data from a for 4 s; the agent on c did not answer either");
  answers.ends[2] = fail(ErrorKind::kUnavailable, "killed");
  EXPECT_EQ(train_cause(nodes, answers)->cause, "the agent on c: killed");
  answers.ends = {TrainRan(), TrainRan(), TrainRan()};
  EXPECT_FALSE(train_cause(nodes, answers));
  for (auto& rank : answers.ends) rank = fail(ErrorKind::kCancelled, "stopped");
  EXPECT_EQ(train_cause(nodes, answers)->cause, "stopped on request");
}

TEST(TrainReport, ComparesEachStepWithTheComputingOfItsRound) {
  const Model model = *find_model("bert-large");
  StepPlan plan;
  plan.flops_per_second = 100e12;
  const Step step = make_step(model, plan);
  TrainResult result;
  for (const double drift : {1.0, 2.0, 3.0}) {
    result.compute.push_back(step.compute * drift);
    result.step.push_back(step.compute * drift * 2);
    result.exchange.push_back(step.compute * drift * 1.5);
  }
  const TrainReport report = report_of(model, plan, step, 4, result);
  EXPECT_DOUBLE_EQ(report.efficiency, 0.5);
  EXPECT_DOUBLE_EQ(report.exposed, step.compute * 2);
  EXPECT_NEAR(report.overlap, 1.0 / 3, 1e-9);  // 2 exposed of 3
  EXPECT_NEAR(report.samples_per_second, 8 * 4 / (step.compute * 4), 1e-9);
  EXPECT_NEAR(report.tokens_per_second, report.samples_per_second * 512, 1e-6);
  EXPECT_NEAR(report.exchange_rate.bits_per_second, 335'141'888.0 * 4 * 8 * 1.5 / (step.compute * 3), 1);
  EXPECT_GT(report.hiding_rate, report.exchange_rate);
}

TEST(TrainReport, AFailureWithoutRoundsHasNoNumbers) {
  const Model model = *find_model("gpt2");
  StepPlan plan;
  plan.flops_per_second = 1e12;
  TrainResult result;
  result.failure = Failure{"run", "gone", ""};
  TrainReport report = report_of(model, plan, make_step(model, plan), 2, result);
  EXPECT_EQ(report.rounds, 0u);
  report.nodes = {"a", "a", "b"};
  const auto measurements = train_measurements(report);
  ASSERT_EQ(measurements.size(), 2u);
  EXPECT_EQ(measurements[0].from.node, "a,b");
  EXPECT_EQ(measurements[0].streams, 3);
  EXPECT_TRUE(measurements[1].failure);
  EXPECT_EQ(measurements[0].summary.median, 0);
}

}  // namespace
}  // namespace railbed

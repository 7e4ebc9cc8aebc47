// Shows that a campaign needs no command: it runs as in a daemon, from its own threads, twice at once, and
// without a byte on standard output or error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "campaign/measure_ways.h"
#include "campaign/survey.h"
#include "verify/verify.h"

namespace railbed {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

ReachOptions reach() {
  ReachOptions options;
  options.binary = RAILBED_TEST_AGENT;
  return options;
}

// Two nodes that are both this machine.
Cluster two_nodes() {
  Cluster cluster;
  cluster.name = "two";
  for (const char* name : {"one", "other"}) {
    Node node;
    node.name = name;
    node.local = true;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

struct Watcher {
  Surveyed surveyed;
  Verdict verdict;
  Result<BenchRun> run = fail(ErrorKind::kInternal, "not measured");
  std::atomic<int> progress = 0;
};

Caller caller_of(Watcher& watch, std::stop_token stop) {
  return {stop, [&watch](std::string_view) { ++watch.progress; }, [](std::string_view) {}};
}

// One round of a daemon: the facts of all nodes, a verdict, and one pair measured.
void watch_once(Watcher& watch, std::stop_token stop) {
  const Caller caller = caller_of(watch, stop);
  const Cluster cluster = two_nodes();
  fleet::Fleet fleet = open_fleet(cluster, reach());
  watch.surveyed = survey_nodes(fleet, caller, {}, cluster);
  watch.verdict = verify({cluster, watch.surveyed.facts, watch.surveyed.unreachable, {}, {}});
  BenchPlan plan;
  plan.engines = {Engine::kTcp};
  plan.seconds = 0.2;
  plan.warmup = 0.05;
  watch.run =
      measure_ways({"localhost", "localhost", "", ""}, plan,
                   {"bench tcp localhost localhost", {{"streams", "4"}}, "watch", 1}, reach(), caller);
}

TEST(Daemon, LooksJudgesAndMeasuresTwiceAtOnceWithoutAByteOfOutput) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Watcher watches[2];
  std::jthread first([&](std::stop_token stop) { watch_once(watches[0], stop); });
  std::jthread second([&](std::stop_token stop) { watch_once(watches[1], stop); });
  first.join();
  second.join();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (const Watcher& watch : watches) {
    EXPECT_THAT(watch.surveyed.facts, SizeIs(2));
    EXPECT_THAT(watch.surveyed.unreachable, IsEmpty());
    EXPECT_THAT(watch.surveyed.clocks, SizeIs(2));
    EXPECT_FALSE(watch.verdict.findings.empty());
    EXPECT_GT(watch.progress, 0);
    ASSERT_TRUE(watch.run) << watch.run.error().text;
    EXPECT_THAT(watch.run->measurements, SizeIs(2));  // bandwidth and latency
    for (const Measurement& measurement : watch.run->measurements) {
      EXPECT_FALSE(measurement.failure) << measurement.failure->cause;
      EXPECT_GT(measurement.summary.median, 0);
    }
    EXPECT_EQ(watch.run->asked.at("streams"), "4");
    EXPECT_FALSE(watch.run->fingerprint.empty());
  }
}

TEST(Daemon, AStopEndsAMeasurementEarly) {
  using Clock = std::chrono::steady_clock;
  Watcher watch;
  const auto began = Clock::now();
  std::jthread measuring([&](std::stop_token stop) {
    BenchPlan plan;
    plan.engines = {Engine::kTcp};
    plan.seconds = 60;
    watch.run = measure_ways({"localhost", "localhost", "", ""}, plan, {}, reach(), caller_of(watch, stop));
  });
  // Two steps of progress: facts were collected, and a measurement runs.
  while (watch.progress < 2 && Clock::now() - began < std::chrono::seconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  measuring.request_stop();
  measuring.join();
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(30));
  ASSERT_TRUE(watch.run) << watch.run.error().text;
}

}  // namespace
}  // namespace railbed

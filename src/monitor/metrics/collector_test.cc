#include "monitor/metrics/collector.h"

#include <gtest/gtest.h>

#include <atomic>

namespace railbed {
namespace {

using namespace std::chrono_literals;
using Clock = Collector::Clock;

TEST(Collector, WorksWhenSomebodyAsks) {
  std::atomic<int> times = 0;
  Collector collector("counts", [&](std::stop_token) -> Result<void> { return ++times, Result<void>(); });
  EXPECT_FALSE(collector.health().success);
  EXPECT_TRUE(collector.wait(0s, Clock::now() + 60s));
  EXPECT_EQ(times, 1);
  EXPECT_TRUE(collector.wait(1h, Clock::now() + 60s)) << "what is there will do";
  EXPECT_EQ(times, 1);
  EXPECT_TRUE(collector.wait(0s, Clock::now() + 60s));
  EXPECT_EQ(times, 2);
  EXPECT_TRUE(collector.health().success);
  EXPECT_EQ(collector.health().name, "counts");
}

TEST(Collector, WorksByItself) {
  std::atomic<int> times = 0;
  Collector collector(
      "look", [&](std::stop_token) -> Result<void> { return ++times, Result<void>(); }, 1ms);
  const auto until = Clock::now() + 60s;
  while (times < 3 && Clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_GE(times, 3);
}

// The first look at a machine takes seconds, and whoever waits for it wants no second one.
TEST(Collector, WorkThatRunsIsNotDoneAgain) {
  std::atomic<int> times = 0;
  std::atomic<bool> go = false;
  Collector collector(
      "look",
      [&](std::stop_token) -> Result<void> {
        ++times;
        while (!go) std::this_thread::sleep_for(1ms);
        return {};
      },
      1h);
  while (times == 0) std::this_thread::sleep_for(1ms);
  collector.begin_if_older(1h);
  go = true;
  EXPECT_TRUE(collector.wait(1h, Clock::now() + 60s));
  std::this_thread::sleep_for(50ms);  // a second run would have begun
  EXPECT_EQ(times, 1);
  EXPECT_TRUE(collector.wait(0s, Clock::now() + 60s)) << "what began earlier will not do here";
  EXPECT_EQ(times, 2);
}

TEST(Collector, WhatFailsIsSaid) {
  Collector collector(
      "gpu", [](std::stop_token) -> Result<void> { return fail(ErrorKind::kTimeout, "NVML hangs"); });
  EXPECT_TRUE(collector.wait(0s, Clock::now() + 60s)) << "a failure is an answer";
  EXPECT_FALSE(collector.health().success);
  EXPECT_EQ(collector.why(), "NVML hangs");
}

TEST(Collector, WhatHangsCostsItselfAlone) {
  struct Gate {
    std::atomic<bool> open = false;
    std::atomic<bool> passed = false;
  };
  const auto gate = std::make_shared<Gate>();
  {
    Collector hung("net", [gate](std::stop_token) -> Result<void> {
      while (!gate->open) std::this_thread::sleep_for(1ms);
      gate->passed = true;
      return {};
    });
    Collector other("rdma", [](std::stop_token) -> Result<void> { return {}; });
    EXPECT_FALSE(hung.wait(0s, Clock::now() + 20ms));
    EXPECT_FALSE(hung.wait(0s, Clock::now() + 20ms)) << "nobody begins it again";
    EXPECT_TRUE(other.wait(0s, Clock::now() + 60s));
  }  // the destructor does not wait for a result
  EXPECT_FALSE(gate->passed);
  gate->open = true;
  const auto until = Clock::now() + 60s;
  while (!gate->passed && Clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(gate->passed) << "what it used is still there";
}

TEST(Collector, ABellOutlivesIt) {
  std::function<void()> bell;
  {
    std::atomic<int> times = 0;
    Collector collector("look", [&](std::stop_token) -> Result<void> { return ++times, Result<void>(); });
    bell = collector.bell();
    bell();
    const auto until = Clock::now() + 60s;
    while (times == 0 && Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(times, 1);
  }
  bell();
}

}  // namespace
}  // namespace railbed

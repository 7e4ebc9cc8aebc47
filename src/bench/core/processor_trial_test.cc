#include "bench/core/processor_trial.h"

#include <gtest/gtest.h>

#include <thread>

namespace railbed {
namespace {

std::vector<int> allowed() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> all;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) all.push_back(processor);
  return all;
}

// Tries two processors for 400 ns in slices of `slice`; the first does one thing every 10 ns, the second one
// every `pace`.
std::vector<int> chosen_at(std::uint64_t pace, int rounds) {
  const std::vector<int> before = allowed();
  ProcessorTrial trial({before[0], before[1]}, 400, rounds);
  std::uint64_t now = 1000;
  while (!trial.over()) {
    trial.count(now);
    now += allowed() == std::vector{before[0]} ? 10 : pace;
  }
  return allowed();
}

TEST(ProcessorTrial, StaysWhereMostGotDone) {
  const std::vector<int> all = allowed();
  if (all.size() < 2) GTEST_SKIP() << "one processor only";
  for (const int rounds : {1, 2}) {
    EXPECT_EQ(chosen_at(40, rounds), std::vector{all[0]}) << rounds;
    EXPECT_EQ(chosen_at(3, rounds), std::vector{all[1]}) << rounds;
    EXPECT_EQ(allowed(), all) << "the thread was not let go";
  }
}

TEST(ProcessorTrial, ASlowProcessorMayOutlastItsSlice) {
  const std::vector<int> all = allowed();
  if (all.size() < 2) GTEST_SKIP() << "one processor only";
  EXPECT_EQ(chosen_at(5000, 2), std::vector{all[0]});
}

TEST(ProcessorTrial, NothingIsTriedWithoutAChoiceOrTime) {
  const std::vector<int> all = allowed();
  EXPECT_TRUE(ProcessorTrial({}, 1'000'000, 1).over());
  EXPECT_TRUE(ProcessorTrial({all[0]}, 1'000'000, 1).over());
  EXPECT_TRUE(ProcessorTrial({all[0], all[0]}, 0, 1).over());
  EXPECT_EQ(allowed(), all);
}

}  // namespace
}  // namespace railbed

#include "bench/gpu/barrier.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace railbed {
namespace {

TEST(Barrier, NobodyGoesOnAlone) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  Barrier barrier(kThreads);
  std::atomic<int> arrived{0};
  std::atomic<int> early{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 1; round <= kRounds; ++round) {
        ++arrived;
        if (!barrier.wait() || arrived < round * kThreads) ++early;
      }
      barrier.leave();
    });
  EXPECT_EQ(barrier.wait_for_end(), "");
  threads.clear();
  EXPECT_EQ(early, 0);
}

TEST(Barrier, WhoGivesUpReleasesTheOthers) {
  Barrier barrier(2);
  bool went_on = true;
  std::jthread waiting([&] { went_on = barrier.wait(); });
  barrier.give_up("the first", FailureKind::kNoMemory);
  barrier.give_up("an echo");
  EXPECT_EQ(barrier.wait_for_end(), "the first");
  EXPECT_EQ(barrier.kind(), FailureKind::kNoMemory);
  waiting.join();
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace railbed

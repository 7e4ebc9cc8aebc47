#include "bench/meeting.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace railbed {
namespace {

TEST(Meeting, NobodyGoesOnAlone) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  Meeting meeting(kThreads);
  std::atomic<int> arrived{0};
  std::atomic<int> early{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 1; round <= kRounds; ++round) {
        ++arrived;
        if (!meeting.wait() || arrived < round * kThreads) ++early;
      }
      meeting.leave();
    });
  EXPECT_EQ(meeting.wait_for_end(), "");
  threads.clear();
  EXPECT_EQ(early, 0);
}

TEST(Meeting, WhoGivesUpReleasesTheOthers) {
  Meeting meeting(2);
  bool went_on = true;
  std::jthread waiting([&] { went_on = meeting.wait(); });
  meeting.give_up("the first", FailureKind::kNoMemory);
  meeting.give_up("an echo");
  EXPECT_EQ(meeting.wait_for_end(), "the first");
  EXPECT_EQ(meeting.kind(), FailureKind::kNoMemory);
  waiting.join();
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace railbed

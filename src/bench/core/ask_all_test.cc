#include "bench/core/ask_all.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace railbed {
namespace {

using std::chrono::milliseconds;

struct Reply {
  int value = 0;
  std::optional<Failure> failure;
};

TEST(AskBoth, SilentSideIsStoppedAfterTheGrace) {
  const auto broken = [](std::stop_token) -> Result<Reply> {
    return Reply{0, Failure{"run", "no answer", ""}};
  };
  const auto silent = [](std::stop_token stop) -> Result<Reply> {
    while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
    return fail(ErrorKind::kCancelled, "stopped");
  };
  const auto [a, b] = ask_both<Reply, Reply>(broken, silent, {}, milliseconds(20));
  ASSERT_TRUE(a);
  EXPECT_FALSE(b);
  const auto cause = cause_of("a", a, "b", b);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->cause, "no answer; the agent on b did not answer either");
}

// Takes the number of an end and returns its outcome.
using AskOne = std::function<EndState(std::size_t, std::stop_token)>;

EndState wait_for_stop(const std::stop_token& stop) {
  while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
  return EndState::kGone;
}

TEST(RunAll, AnswersInTheOrderInWhichTheyEnded) {
  std::atomic<int> ended = 0;
  const AskOne ask = [&](std::size_t end, const std::stop_token&) {
    while (ended != 2 - static_cast<int>(end)) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(20));
    ++ended;
    return EndState::kWell;
  };
  EXPECT_EQ(run_all(3, ask, {}), (std::vector<std::size_t>{2, 1, 0}));
}

TEST(RunAll, AnEndThatIsGoneStopsTheOthersAtOnceEvenWithinTheGrace) {
  const AskOne ask = [](std::size_t end, const std::stop_token& stop) {
    if (end == 0) return EndState::kFailed;
    if (end == 2) return wait_for_stop(stop);
    std::this_thread::sleep_for(milliseconds(20));
    return EndState::kGone;
  };
  EXPECT_EQ(run_all(3, ask, {}, std::chrono::hours(1)), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(RunAll, TheCallersStopStopsAll) {
  std::stop_source stop;
  stop.request_stop();
  const AskOne ask = [](std::size_t, const std::stop_token& inner) { return wait_for_stop(inner); };
  EXPECT_EQ(run_all(2, ask, stop.get_token(), std::chrono::hours(1)).size(), 2U);
}

TEST(CauseOf, DamageBeatsAgentsBeatSendersBeatReceivers) {
  const Error died{ErrorKind::kUnavailable, "gone"};
  const Failure stalled{"run", "stalled", ""};
  const Failure closed{"run", "closed", ""};
  const Failure damaged{"verify", "damaged", ""};
  const std::string a = "a";
  const std::string b = "b";
  EXPECT_FALSE(cause_of({&a}, {&b}));
  EXPECT_EQ(cause_of({&a, nullptr, &stalled}, {&b, nullptr, &closed})->cause, "stalled");
  EXPECT_EQ(cause_of({&a}, {&b, nullptr, &closed})->cause, "closed");
  EXPECT_EQ(cause_of({&a, nullptr, &stalled}, {&b, nullptr, &damaged})->cause, "damaged");
  EXPECT_EQ(cause_of({&a, &died, nullptr}, {&b, nullptr, &damaged})->cause, "damaged");
  EXPECT_EQ(cause_of({&a, nullptr, &stalled}, {&b, &died, nullptr})->cause, "the agent on b: gone");
}

}  // namespace
}  // namespace railbed

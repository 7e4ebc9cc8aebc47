#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "os/process.h"

namespace railbed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Heard {
  std::vector<std::string> results;
  std::string step;
  std::string printed;
  ChildListener listener() {
    return {[&](std::string_view text) { step = text; },
            [&](std::string_view line) { results.emplace_back(line); },
            [&](std::string_view text) { printed += text; }};
  }
};

TEST(FollowChild, HandsOnEachResultAndWhatLibrariesPrint) {
  Heard heard;
  const auto miss = follow_child(
      [](const Tell& tell) {
        tell.result("one");
        tell.about_to("the second");
        std::printf("hello\n");
        std::fflush(stdout);
        tell.result(std::string(100'000, 'x'));
      },
      heard.listener(), seconds(60));
  EXPECT_FALSE(miss);
  EXPECT_THAT(heard.results, ElementsAre("one", std::string(100'000, 'x')));
  EXPECT_EQ(heard.step, "the second");
  EXPECT_EQ(heard.printed, "hello\n");
}

TEST(FollowChild, SaysThatTheChildWasKilled) {
  Heard heard;
  const auto miss = follow_child(
      [](const Tell& tell) {
        tell.about_to("the driver");
        kill(getpid(), SIGKILL);
      },
      heard.listener(), seconds(60));
  ASSERT_TRUE(miss);
  EXPECT_EQ(miss->why, "the process that asked the library was killed in the driver");
  EXPECT_TRUE(miss->killed);
}

TEST(FollowChild, NamesTheStepThatHangsAndKeepsTheResults) {
  Heard heard;
  const auto miss = follow_child(
      [](const Tell& tell) {
        tell.result("one");
        tell.about_to("the driver");
        for (;;) pause();
      },
      heard.listener(), milliseconds(300));
  ASSERT_TRUE(miss);
  EXPECT_EQ(miss->missing, Missing::kTimeout);
  EXPECT_EQ(miss->why, "the driver");
  EXPECT_THAT(heard.results, ElementsAre("one"));
}

TEST(FollowChild, ACrashIsSaid) {
  Heard heard;
  const auto miss = follow_child(
      [](const Tell& tell) {
        tell.about_to("the library");
        _exit(9);
      },
      heard.listener(), seconds(60));
  ASSERT_TRUE(miss);
  EXPECT_THAT(miss->why, HasSubstr("(9) in the library"));
}

TEST(FollowChild, StopsWhenAsked) {
  Heard heard;
  std::stop_source stop;
  const auto miss = follow_child(
      [](const Tell& tell) {
        tell.result("ready");
        for (;;) pause();
      },
      {[](std::string_view) {}, [&](std::string_view) { stop.request_stop(); }, [](std::string_view) {}},
      seconds(60), stop.get_token());
  ASSERT_TRUE(miss);
  EXPECT_EQ(miss->why, "stopped");
}

}  // namespace
}  // namespace railbed

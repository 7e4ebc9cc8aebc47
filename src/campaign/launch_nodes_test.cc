#include "campaign/launch_nodes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "bench/core/typed.h"
#include "campaign/job_handlers.h"

namespace railbed {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using TestClock = std::chrono::steady_clock;

ReachOptions test_agent() {
  ReachOptions options;
  options.binary = RAILBED_TEST_AGENT;
  return options;
}

// Nodes that are all this machine.
Cluster cluster_of(const Launch& launch) {
  Cluster cluster;
  for (const NodeCommand& command : launch.commands) {
    Node node;
    node.name = command.node;
    node.local = true;
    cluster.nodes.push_back(node);
  }
  return cluster;
}

NodeCommand shell(std::string node, std::string script) {
  return {std::move(node), {}, {"sh", "-c", std::move(script)}};
}

// Collects the printed lines: "node: line", and "node! line" for standard error.
class Heard {
 public:
  HearLine listener() {
    return [this](const PrintedLine& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(fmt::format("{}{} {}", line.node, line.error ? "!" : ":", line.text));
      changed_.notify_all();
    };
  }
  // Waits for a line with this beginning and returns its rest.
  std::string wait_for(const std::string& begin) {
    std::unique_lock lock(mutex_);
    std::string found;
    changed_.wait_for(lock, seconds(60), [&] {
      for (const std::string& line : lines_)
        if (line.starts_with(begin)) found = line.substr(begin.size());
      return !found.empty();
    });
    return found;
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

LaunchEnd launched(const Launch& launch, const HearLine& hear, std::stop_token stop = {},
                   seconds grace = seconds(5)) {
  auto end = launch_nodes(cluster_of(launch), launch, {"", grace}, test_agent(), Caller{stop}, hear);
  EXPECT_TRUE(end) << (end ? "" : end.error().text);
  return end.value_or(LaunchEnd{});
}

bool is_alive(pid_t pid) { return kill(pid, 0) == 0; }

// Waits for the end: a killed process exists until its parent has reaped it.
bool dies(pid_t pid) {
  for (const auto until = TestClock::now() + seconds(30); is_alive(pid) && TestClock::now() < until;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return !is_alive(pid);
}

pid_t number(const std::string& text) {
  const auto value = parse_number<pid_t>(text);
  EXPECT_TRUE(value) << text;
  return value.value_or(-1);
}

pid_t parent(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PPid:")) return number(line.substr(5));
  return -1;
}

TEST(LaunchNodes, EachCommandHasItsVariablesAndItsLines) {
  Launch launch;
  for (const char* node : {"one", "other"})
    launch.commands.push_back({node,
                               {{"NCCL_TEST", std::string("=") + node}},
                               {"sh", "-c", "echo $NCCL_TEST; echo 'to people' >&2; printf 'no end'"}});
  Heard heard;
  const LaunchEnd end = launched(launch, heard.listener());
  ASSERT_THAT(end.ends, SizeIs(2));
  EXPECT_TRUE(end.ends[0].good() && end.ends[1].good());
  EXPECT_FALSE(end.first || end.stopped || end.cancelled);
  for (const char* node : {"one", "other"}) {
    EXPECT_THAT(heard.lines(), Contains(fmt::format("{}: ={}", node, node)));
    EXPECT_THAT(heard.lines(), Contains(fmt::format("{}! to people", node)));
    EXPECT_THAT(heard.lines(), Contains(fmt::format("{}: no end", node)));
  }
}

TEST(LaunchNodes, WordsArriveAsTheyAreAndOutputIsCleaned) {
  Launch launch;
  launch.commands = {shell("one", "printf %s \"$1$X\" | od -An -tx1; printf 'a\\033[31mb\\001c\\n'")};
  launch.commands[0].words.insert(launch.commands[0].words.end(), {"sh", "a\t\n\xff"});
  launch.commands[0].environment = {{"X", "=\x1b\n"}};
  Heard heard;
  launched(launch, heard.listener());
  EXPECT_THAT(heard.lines(), ElementsAre("one:  61 09 0a ff 3d 1b 0a",
                                         "one: ab\xEF\xBF\xBD"
                                         "c"));
}

TEST(LaunchNodes, OneThatFailsIsNamedAndTheOthersAreStopped) {
  Heard heard;
  const LaunchEnd end = launched(
      {.contact = "",
       .commands = {shell("one", "echo $$; exec sleep 1000"), shell("other", "echo last words; exit 7")}},
      heard.listener());
  ASSERT_TRUE(end.first);
  EXPECT_EQ(end.ends[*end.first].to_text(), "other: exit status 7");
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(end.ends[0].to_text(), "one: exit status 143 (SIGTERM)");
  EXPECT_TRUE(dies(number(heard.wait_for("one: "))));
}

TEST(LaunchNodes, NothingIsStartedWhereANodeLacksTheProgram) {
  const std::string trace = fmt::format("{}/railbed-launch-{}", testing::TempDir(), getpid());
  Launch launch;
  launch.commands = {shell("one", "touch " + trace), {"other", {}, {"no-such-program", "x"}}};
  const auto end =
      launch_nodes(cluster_of(launch), launch, {}, test_agent(), Caller{}, [](const PrintedLine&) {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(
      end.error().text,
      HasSubstr("nothing was started on any node:\nother: no-such-program is in no folder of the PATH"));
  struct stat about;
  EXPECT_NE(stat(trace.c_str(), &about), 0);
}

TEST(LaunchNodes, RootBySudoStartsNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  setenv("SUDO_UID", "1000", 1);
  const Launch launch{.contact = "", .commands = {shell("one", "exit 0")}};
  const auto end =
      launch_nodes(cluster_of(launch), launch, {}, test_agent(), Caller{}, [](const PrintedLine&) {});
  unsetenv("SUDO_UID");
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().text, HasSubstr("became root by sudo"));
}

TEST(LaunchNodes, AStopEndsWhatLeftItsGroupAndWhatHeedsNoSignal) {
  Launch launch;
  launch.commands = {
      shell("one", "setsid sh -c 'trap \"\" TERM; echo far $$; sleep 1000; sleep 1000' & echo near $$; wait"),
      shell("other", "trap '' TERM; echo $$; sleep 1000; sleep 1000")};
  Heard heard;
  std::stop_source stop;
  LaunchEnd end;
  std::jthread launching([&] { end = launched(launch, heard.listener(), stop.get_token(), seconds(1)); });
  const pid_t left = number(heard.wait_for("one: far ")), near = number(heard.wait_for("one: near ")),
              deaf = number(heard.wait_for("other: "));
  EXPECT_TRUE(is_alive(left) && is_alive(near) && is_alive(deaf));
  stop.request_stop();
  launching.join();
  EXPECT_TRUE(end.cancelled && !end.first);
  EXPECT_TRUE(dies(left) && dies(near) && dies(deaf));
  EXPECT_EQ(end.ends[1].to_text(), "other: exit status 137 (SIGKILL)");
}

TEST(LaunchNodes, WhatAProgramLeavesBehindEndsWithIt) {
  Heard heard;
  launched({.contact = "", .commands = {shell("one", "sleep 1000 & echo $!")}}, heard.listener());
  EXPECT_TRUE(dies(number(heard.wait_for("one: "))));
}

TEST(LaunchNodes, AnAgentThatIsKilledTakesTheProgramWithIt) {
  Heard heard;
  LaunchEnd end;
  std::jthread launching([&] {
    end = launched({.contact = "", .commands = {shell("one", "setsid sleep 1000 & echo $! $$; wait")}},
                   heard.listener());
  });
  const std::string line = heard.wait_for("one: ");
  const pid_t far = number(std::string(words(line).at(0))), near = number(std::string(words(line).at(1)));
  const pid_t agent = parent(parent(near));
  ASSERT_GT(agent, 1);
  ASSERT_NE(agent, getpid());
  kill(agent, SIGKILL);
  launching.join();
  EXPECT_TRUE(dies(far) && dies(near));
  ASSERT_TRUE(end.first && end.ends[0].lost);
}

TEST(LaunchNodes, AFloodIsHeardWhole) {
  std::size_t lines = 0, bytes = 0, wrong = 0;
  launched({.contact = "", .commands = {shell("one", "yes 0123456789 | head -n 1000000; echo end")}},
           [&](const PrintedLine& line) {
             ++lines;
             bytes += line.text.size();
             wrong += line.text != "0123456789" && line.text != "end" ? 1 : 0;
           });
  EXPECT_EQ(lines, 1'000'001U);
  EXPECT_EQ(bytes, 10'000'003U);
  EXPECT_EQ(wrong, 0U);
}

TEST(LaunchNodes, AProgramThatNobodyAsksForAnyMoreEnds) {
  fleet::Fleet fleet({{"one", "", true}}, test_agent());
  JobRequest request;
  for (const char* word : {"sh", "-c", "echo $$; exec sleep 1000"}) request.words.push_back({word});
  request.patience_seconds = 1;
  Peer& peer = fleet.peer(0);
  ASSERT_TRUE(ask<JobNote>(peer, kLaunchStart, request, seconds(30), {}));
  std::string printed;
  for (std::optional<int> status; !status;) {
    const auto news = ask<JobNews>(peer, kLaunchRead, JobNote{}, seconds(60), {});
    ASSERT_TRUE(news) << news.error().text;
    for (const JobOutput& output : news->output) printed += output.lines.text;
    status = news->status;
  }
  EXPECT_THAT(printed, HasSubstr("the command that started this agent has been silent for 1 s"));
}

}  // namespace
}  // namespace railbed

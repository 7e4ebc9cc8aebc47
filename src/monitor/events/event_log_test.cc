#include "monitor/events/event_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

NodeEvent event_at(double time, std::string message = "ens6 is down") {
  NodeEvent event;
  event.time = {time};
  event.kind = EventKind::kAppeared;
  event.node = "gpu01";
  event.rule = "net.link-down";
  event.subject = "ens6";
  event.status = Status::kFail;
  event.message = std::move(message);
  event.since = UtcTime{time};
  return event;
}

class EventLogTest : public ::testing::Test {
 protected:
  void write(const std::string& text, const std::string& name = "events.jsonl") {
    std::ofstream(folder_ + '/' + name) << text;
  }
  LoggedEvents read(double since = 0, std::size_t most = 1000) {
    auto logged = read_events(folder_, since, most);
    EXPECT_TRUE(logged) << logged.error().text;
    return logged ? *logged : LoggedEvents{};
  }
  void append(double time) {
    auto log = EventLog::open(folder_);
    ASSERT_TRUE(log) << log.error().text;
    const auto done = log->append(event_line(event_at(time)));
    ASSERT_TRUE(done) << done.error().text;
  }
  mode_t mode_of(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  TemporaryFolder temporary_;
  std::string parent_ = temporary_.path();
  std::string folder_ = parent_ + "/state";
};

TEST_F(EventLogTest, WritesAndReadsForItsUserAlone) {
  append(1000);
  append(2000);
  EXPECT_EQ(mode_of(folder_), 0700U);
  EXPECT_EQ(mode_of(folder_ + "/events.jsonl"), 0600U);
  EXPECT_EQ(read().events.size(), 2U);
  EXPECT_EQ(read(1500).events.size(), 1U);
  EXPECT_EQ(read(0, 1).events[0].time.unix_seconds, 2000);
}

TEST_F(EventLogTest, ALineCutAnywhereCostsThatLineAlone) {
  append(1000);
  append(2000);
  const std::string whole = *read_file(folder_ + "/events.jsonl");
  const std::size_t second = whole.find('\n') + 1;
  for (std::size_t end = second; end <= whole.size(); ++end) {
    write(whole.substr(0, end));
    const bool is_whole = end + 1 >= whole.size();
    EXPECT_EQ(read().events.size(), is_whole ? 2U : 1U) << end;
    append(3000);
    const LoggedEvents after = read();
    EXPECT_EQ(after.events.size(), is_whole ? 3U : 2U) << end;
    EXPECT_EQ(after.events.back().time.unix_seconds, 3000) << end;
    EXPECT_LE(after.unreadable, 1U);
  }
}

TEST_F(EventLogTest, KeepsTwoOldFiles) {
  auto log = EventLog::open(folder_, 2000);
  ASSERT_TRUE(log);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(log->append(event_line(event_at(1000 + i))));
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    EXPECT_LE(file.file_size(), 2000U);
    EXPECT_EQ(mode_of(file.path()), 0600U);
    files += file.path().filename().string().starts_with("events.jsonl");
  }
  EXPECT_EQ(files, 3U);
  const LoggedEvents logged = read();
  EXPECT_EQ(logged.events.back().time.unix_seconds, 1099);
  for (std::size_t i = 1; i < logged.events.size(); ++i)
    EXPECT_EQ(logged.events[i].time.unix_seconds - logged.events[i - 1].time.unix_seconds, 1);
}

TEST_F(EventLogTest, GarbageIsPassedOver) {
  append(1000);
  const std::string line = *read_file(folder_ + "/events.jsonl");
  std::string garbage(70'000, 'x');
  garbage += "\n\n{}\n[]\nnull\n\"a\"\n{\"time\": 5}\n{\"time\":\"5m\"}\n\xff\xfe\n" +
             std::string(10'000, '[') + "\n";
  write(garbage + line);
  const LoggedEvents logged = read();
  EXPECT_EQ(logged.events.back().time.unix_seconds, 1000);
  EXPECT_GE(logged.unreadable, 6U);
}

// Runs in its own process, because a process may take its own lock twice.
TEST_F(EventLogTest, OneMonitorAtATime) {
  auto log = EventLog::open(folder_);
  ASSERT_TRUE(log);
  const pid_t child = fork();
  if (child == 0) {
    const auto second = EventLog::open(folder_);
    const bool refused = !second &&
                         second.error().text.find(std::to_string(getppid())) != std::string::npos &&
                         second.error().text.find("another monitor") != std::string::npos;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(EventLogTest, AFolderThatOthersWriteToIsRefused) {
  std::filesystem::create_directory(folder_);
  chmod(folder_.c_str(), 0777);
  const auto log = EventLog::open(folder_);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().text.find("chmod go-w"), std::string::npos);
}

TEST_F(EventLogTest, LinksAndPipesAreNotFollowed) {
  std::filesystem::create_directory(folder_);
  chmod(folder_.c_str(), 0700);
  std::filesystem::create_symlink("/dev/null", folder_ + "/events.jsonl");
  auto log = EventLog::open(folder_);
  ASSERT_TRUE(log);
  EXPECT_FALSE(log->append("x\n"));
  std::filesystem::remove(folder_ + "/events.jsonl");
  ASSERT_EQ(mkfifo((folder_ + "/events.jsonl").c_str(), 0600), 0);
  EXPECT_FALSE(log->append("x\n"));
}

// A write over the size limit fails like a write to a full disk: after the bytes that fit.
TEST_F(EventLogTest, OfALineThatDoesNotFitNothingStays) {
  append(1000);
  const auto size = std::filesystem::file_size(folder_ + "/events.jsonl");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{size + 10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto log = EventLog::open(folder_);
    const bool refused = log && !log->append(event_line(event_at(2000)));
    const bool kept = std::filesystem::file_size(folder_ + "/events.jsonl") == size;
    const rlimit room{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &room);
    _exit(refused && kept && log->append(event_line(event_at(3000))) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read().events.back().time.unix_seconds, 3000);
  EXPECT_EQ(read().unreadable, 0U);
}

TEST_F(EventLogTest, PrunesFromTheStartOfEachFile) {
  auto log = EventLog::open(folder_, 2000);
  ASSERT_TRUE(log);
  constexpr double kYear2026 = 1'767'225'600;
  ASSERT_TRUE(log->append(event_line(event_at(100))));  // before the clock was set
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(log->append(event_line(event_at(kYear2026 + i))));
  const std::size_t all = read().events.size();
  ASSERT_TRUE(log->prune(kYear2026));
  EXPECT_EQ(read().events.size(), all) << "nothing is that old";
  const double oldest = read().events[all / 2].time.unix_seconds;
  ASSERT_TRUE(log->prune(oldest));
  EXPECT_EQ(read().events.front().time.unix_seconds, oldest);
  EXPECT_EQ(read().events.back().time.unix_seconds, kYear2026 + 29);
  ASSERT_TRUE(log->append(event_line(event_at(kYear2026 + 40))));
  EXPECT_EQ(read().events.back().time.unix_seconds, kYear2026 + 40);
  ASSERT_TRUE(log->prune(kYear2026 + 1000));
  EXPECT_TRUE(read().events.empty()) << "an empty log is one all the same";
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/events.jsonl.1"));
  ASSERT_TRUE(log->append(event_line(event_at(kYear2026 + 2000))));
  EXPECT_EQ(read().events.size(), 1U);
}

TEST_F(EventLogTest, OfManyEventsTheLatestAreRead) {
  std::string text;
  for (int i = 1; i <= 5; ++i) text += event_line(event_at(i));
  const auto times = [](const LoggedEvents& logged) {
    std::vector<double> found;
    for (const NodeEvent& event : logged.events) found.push_back(event.time.unix_seconds);
    return found;
  };
  const LoggedEvents two = parse_events(text, 0, 2);
  EXPECT_EQ(times(two), (std::vector<double>{4, 5}));
  EXPECT_TRUE(two.more);
  const LoggedEvents all = parse_events(text, 0, 5);
  EXPECT_EQ(times(all), (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_FALSE(all.more);
  EXPECT_EQ(times(parse_events(text, 3, 2)), (std::vector<double>{4, 5}));
  EXPECT_FALSE(parse_events("\n\n", 0, 0).more) << "empty lines are no events";

  append(1000);
  append(2000);
  EXPECT_TRUE(read(0, 1).more);
  EXPECT_EQ(times(read(0, 1)), (std::vector<double>{2000}));
}

TEST(ParseEvents, LinesThatAreNoEventsOfANodeAreCounted) {
  const LoggedEvents found = parse_events("{}\n[]\nx\n\n{\"node\": \"a\"}\n{\"node\": \"\"}", 0, 10);
  EXPECT_EQ(found.unreadable, 4U);
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].node, "a");
}

TEST_F(EventLogTest, NoMonitorHasWritten) {
  const auto logged = read_events(folder_, 0, 10);
  ASSERT_FALSE(logged);
  EXPECT_NE(logged.error().text.find("no monitor has written"), std::string::npos);
}

TEST_F(EventLogTest, WhatKilledWritersLeftIsSweptAndWhatWasSetAsideStays) {
  std::filesystem::create_directory(folder_);
  chmod(folder_.c_str(), 0700);
  write("half", "monitor.state.aB3xYz");
  write("broken", "monitor.state");
  {
    auto log = EventLog::open(folder_);
    ASSERT_TRUE(log);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/monitor.state.aB3xYz"));
    EXPECT_EQ(*log->read_state(), "broken");
    ASSERT_TRUE(log->set_state_aside());
  }
  auto log = EventLog::open(folder_);
  ASSERT_TRUE(log);
  EXPECT_EQ(*log->read_state(), "");
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/monitor.state.set-aside"));
}

}  // namespace
}  // namespace railbed

#include "monitor/events/event_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/testing/temporary_folder.h"
#include "facts/facts.h"
#include "monitor/events/finding_watch.h"
#include "monitor/testing/alert_receiver.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNow = 1'800'000'000;

class EventDeskTest : public ::testing::Test {
 protected:
  EventDeskTest() {
    options_.folder = folder_;
    options_.node = "gpu01";
    options_.journal = false;
    options_.note = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      notes_ += text + '\n';
    };
  }
  std::unique_ptr<EventDesk> open() {
    auto desk = EventDesk::open(options_);
    EXPECT_TRUE(desk) << desk.error().text;
    return desk ? std::move(*desk) : nullptr;
  }
  static Verdict down() {
    Finding finding;
    finding.rule = "rdma.port-down";
    finding.node = "gpu01";
    finding.subject = "mlx5_0/1";
    finding.status = Status::kFail;
    finding.message = "mlx5_0/1 is DOWN";
    Verdict verdict;
    verdict.findings = {finding};
    return verdict;
  }
  std::string log() const { return read_file(folder_ + "/events.jsonl").value_or(""); }
  // The webhook's thread sends within seconds.
  static void until(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(holds());
  }

  TemporaryFolder temporary_;
  std::string folder_ = temporary_.path();
  EventDeskOptions options_;
  std::mutex mutex_;
  std::string notes_;
};

TEST_F(EventDeskTest, KeepsWhatHappenedOverARestart) {
  {
    auto desk = open();
    desk->look(down(), Facts{}, kNow);
    EXPECT_EQ(desk->counts().events,
              (std::map<EventKind, std::uint64_t>{{EventKind::kStarted, 1}, {EventKind::kAppeared, 1}}));
  }
  auto desk = open();
  EXPECT_EQ(desk->recent(10).size(), 2U);
  ASSERT_EQ(desk->since().size(), 1U);
  EXPECT_EQ(desk->since().begin()->second, kNow);
  desk->look(down(), Facts{}, kNow + 3600);
  const auto recent = desk->recent(1);
  EXPECT_EQ(recent[0].kind, EventKind::kStarted);
  EXPECT_EQ(recent[0].gap_seconds, 3600);
  desk->look(Verdict{}, Facts{}, kNow + 3660);
  desk->look(Verdict{}, Facts{}, kNow + 3660 + kHoldSeconds);
  EXPECT_EQ(desk->recent(1)[0].since->unix_seconds, kNow);
  EXPECT_EQ(read_events(folder_, 0, 100)->events.size(), 4U);
  EXPECT_EQ(notes_, "");
}

TEST_F(EventDeskTest, AKillAtAnyMomentLosesAtMostTheLook) {
  for (int i = 0; i < 20; ++i) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto desk = EventDesk::open(options_);
      if (!desk) _exit(1);
      for (int look = 0;; ++look) {
        (*desk)->look(look % 2 == 0 ? down() : Verdict{}, Facts{}, kNow + i * 1e6 + look * 3600);
        if (look == i && ::write(ready[1], "x", 1) != 1) _exit(1);
      }
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    close(ready[0]);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto logged = read_events(folder_, 0, 1'000'000);
    ASSERT_TRUE(logged);
    EXPECT_FALSE(logged->events.empty());
  }
  EXPECT_LE(read_events(folder_, 0, 1'000'000)->unreadable, 20U);
  auto desk = open();
  desk->look(Verdict{}, Facts{}, kNow + 1e8);
  EXPECT_EQ(notes_, "") << "the state was whole";
}

TEST_F(EventDeskTest, ABrokenStateIsSetAsideAndTheWatchBeginsAnew) {
  std::string whole;
  {
    auto desk = open();
    desk->look(down(), Facts{}, kNow);
  }
  whole = *read_file(folder_ + "/monitor.state");
  for (const std::string& broken :
       {whole.substr(0, whole.size() / 2), std::string("\x00\xff", 2), std::string("[]"),
        std::string("{\"version\": \"7\"}"), std::string(1000, '['),
        whole.substr(0, whole.find("gpu01")) + "other" + whole.substr(whole.find("gpu01") + 5)}) {
    std::ofstream(folder_ + "/monitor.state") << broken;
    notes_.clear();
    auto desk = open();
    EXPECT_THAT(notes_, HasSubstr("begins anew"));
    EXPECT_TRUE(desk->since().empty());
    desk->look(down(), Facts{}, kNow);
    EXPECT_EQ(desk->since().size(), 1U);
    EXPECT_EQ(*read_file(folder_ + "/monitor.state.set-aside"), broken);
    std::filesystem::remove(folder_ + "/monitor.state.set-aside");
  }
}

// What FindingWatch::state() wrote before findings were held (finding_watch.cc of 2ca9bdfb^): a port that flaps,
// with neither a count nor a time of its first change, and an MTU.
constexpr const char* kFirstForm =
    R"({"version":1,"watch":{"node":"gpu01","boot_id":"5f0c1c0e-5d0e-4e1d-9a53-0a6d7f1f0001","last_look":1795000720.0,"age":720.0,"findings":[{"rule":"net.mtu","node":"gpu01","subject":"ens6","status":"warn","told":"warn","message":"ens6 has MTU 1500","remedy":"Plug the cable in at both ends.","since":1795000000.0,"present":true,"unknown_looks":0,"turns":[0.0],"flapping":false,"times":1,"seen":720.0,"changes_before":[]},{"rule":"rdma.port-down","node":"gpu01","subject":"mlx5_0/1","status":"fail","told":"fail","message":"mlx5_0/1 is DOWN","remedy":"Plug the cable in at both ends.","since":1795000600.0,"present":false,"unknown_looks":0,"turns":[240.0,360.0,480.0,600.0,720.0],"flapping":true,"times":3,"seen":720.0,"changes_before":[]}],"changes":[],"facts":{"facts":{"kernel":{"value":"6.1.0-21-amd64","kind":"","things":[]}},"kinds":[]}},"nodes":[],"unsent":[]})";
// An event of that time.
constexpr const char* kFirstEvent =
    R"({"time":"2026-11-18T11:06:40Z","kind":"appeared","node":"gpu01","rule":"net.mtu","subject":"ens6","status":"warn","was":null,"present":true,"message":"ens6 has MTU 1500","remedy":"Plug the cable in at both ends.","since":"2026-11-18T11:06:40Z","times_before":0,"changes_before":[],"gap_seconds":null})";

TEST_F(EventDeskTest, AStateOfAnOlderRailbedGoesOn) {
  std::ofstream(folder_ + "/monitor.state") << kFirstForm << '\n';
  std::ofstream(folder_ + "/events.jsonl") << kFirstEvent << '\n';
  for (int start = 0; start < 2; ++start) {
    auto desk = open();
    EXPECT_EQ(notes_, "");
    ASSERT_EQ(desk->since().size(), 1U + static_cast<unsigned>(start));
    EXPECT_EQ(desk->since().begin()->first.rule, "net.mtu");
    EXPECT_EQ(desk->since().begin()->second, 1795000000);
    ASSERT_EQ(desk->present().size(), 2U) << "the port still flaps";
    const NodeEvent port = desk->present()[1];
    EXPECT_EQ(port.kind, EventKind::kFlapping);
    EXPECT_EQ(port.flaps, 5U + static_cast<unsigned>(start));
    EXPECT_EQ(port.flapping_since->unix_seconds, 1795000240);
    EXPECT_EQ(desk->recent(10)[0].rule, "net.mtu");
    Verdict verdict = down();
    Finding mtu;
    mtu.rule = "net.mtu";
    mtu.node = "gpu01";
    mtu.subject = "ens6";
    mtu.status = Status::kWarn;
    mtu.message = "ens6 has MTU 1500";
    verdict.findings.push_back(mtu);
    desk->look(verdict, Facts{}, 1795000780);
    ASSERT_EQ(desk->recent(10).size(), static_cast<std::size_t>(start) + 2);
    EXPECT_EQ(desk->recent(1)[0].kind, EventKind::kStarted) << "nothing else is an event";
  }
  EXPECT_EQ(*read_file(folder_ + "/monitor.state.version-1"), std::string(kFirstForm) + '\n')
      << "for whoever goes back";
  EXPECT_THAT(*read_file(folder_ + "/monitor.state"), HasSubstr("\"version\":2"));
}

TEST_F(EventDeskTest, AStateOfANewerRailbedIsLeftAsItIs) {
  const std::string newer = R"({"version":3,"railbed":"9.0.0","watch":{"node":5},"more":[]})";
  std::ofstream(folder_ + "/monitor.state") << newer;
  {
    const auto refused = EventDesk::open(options_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
    for (const std::string& part :
         {folder_ + "/monitor.state", std::string("version 3"), std::string("9.0.0"), std::string("1 to 2"),
          std::string("--fresh-state")})
      EXPECT_THAT(refused.error().text, HasSubstr(part));
  }
  EXPECT_EQ(*read_file(folder_ + "/monitor.state"), newer);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/events.jsonl"));
  options_.fresh = true;
  for (const char* kept : {"/monitor.state.set-aside", "/monitor.state.set-aside.2"}) {
    auto desk = open();
    desk->look(down(), Facts{}, kNow);
    EXPECT_THAT(notes_, HasSubstr(kept));
  }
  EXPECT_EQ(*read_file(folder_ + "/monitor.state.set-aside"), newer);
}

// Eight months, in which a finding comes and goes once a day.
TEST_F(EventDeskTest, EightMonthsOfEventsStayWithinTheirAgeAndSize) {
  options_.log_bytes = 40 << 10;
  options_.keep_seconds = 50 * 86400.0;
  auto desk = open();
  double now = kNow;
  for (int look = 0; look < 1000; ++look)
    desk->look(look % 4 == 0 ? down() : Verdict{}, Facts{}, now += 6 * 3600);
  const auto logged = read_events(folder_, 0, 1'000'000);
  ASSERT_TRUE(logged);
  EXPECT_EQ(logged->unreadable, 0U);
  EXPECT_GE(logged->events.front().time.unix_seconds, now - options_.keep_seconds - 86400);
  EXPECT_LE(logged->events.front().time.unix_seconds, now - options_.keep_seconds + 86400);
  EXPECT_GT(logged->events.size(), 90U) << "what is younger stays";
  for (const auto& file : std::filesystem::directory_iterator(folder_))
    EXPECT_LE(file.file_size(), options_.log_bytes) << file.path();
  EXPECT_EQ(notes_, "");
}

std::shared_ptr<const Watched> seen(const std::string& job) {
  Watched watched;
  watched.work.when = kNow;
  watched.work.jobs = {JobSpell{.job = {.hpc_job = job}, .since = kNow - 600, .until = kNow, .readings = 11}};
  watched.links["ens1"].receive["1"].days = {{20'000, -2.5}};
  watched.links["ens1"].optics =
      Optics{.celsius = 40, .alarms = {}, .lanes = {{.number = 1, .receive = 0.0}}};
  return std::make_shared<const Watched>(std::move(watched));
}

TEST_F(EventDeskTest, WhatWasSeenOverTimeIsKeptOverARestart) {
  const std::string file = folder_ + "/monitor.watched";
  {
    auto desk = open();
    EXPECT_TRUE(desk->watched().empty());
    desk->keep_watched({{"gpu01", seen("1")}}, kNow);
    EXPECT_THAT(*read_file(file), HasSubstr(R"({"version":1,"railbed":")"));
    desk->keep_watched({{"gpu01", seen("2")}}, kNow + 60);
    EXPECT_THAT(*read_file(file), HasSubstr(R"("hpc_job":"1")")) << "it is not written at each look";
  }
  auto kept = open()->watched();
  ASSERT_EQ(kept.size(), 1U);
  const Watched& watched = kept.at("gpu01");
  EXPECT_EQ(watched.work.jobs.at(0).job.hpc_job, "2") << "the end writes it";
  EXPECT_EQ(watched.work.jobs.at(0).seconds(), 600);
  EXPECT_EQ(watched.links.at("ens1").receive.at("1").days.at(0).value, -2.5);
  EXPECT_EQ(watched.links.at("ens1").optics->lanes.at(0).receive, 0.0);
  EXPECT_EQ(notes_, "");
}

TEST_F(EventDeskTest, WhatWasSeenByANewerRailbedIsLeftAsItIs) {
  const std::string newer = R"({"version":2,"railbed":"9.0.0","nodes":7})";
  std::ofstream(folder_ + "/monitor.watched") << newer;
  {
    auto desk = open();
    EXPECT_TRUE(desk->watched().empty());
    desk->keep_watched({{"gpu01", seen("1")}}, kNow);
  }
  EXPECT_EQ(*read_file(folder_ + "/monitor.watched"), newer);
  EXPECT_THAT(notes_, HasSubstr("9.0.0"));
}

TEST_F(EventDeskTest, WhatCannotBeReadIsReportedAndReplaced) {
  for (const char* text : {"{", "[]", R"({"version":1,"nodes":{"gpu01":{"work":3}}})", "7"}) {
    notes_.clear();
    std::ofstream(folder_ + "/monitor.watched") << text;
    {
      auto desk = open();
      EXPECT_TRUE(desk->watched().empty()) << text;
      EXPECT_THAT(notes_, HasSubstr("begins anew")) << text;
      desk->keep_watched({{"gpu01", seen("1")}}, kNow);
    }
    EXPECT_EQ(open()->watched().size(), 1U) << text;
  }
}

TEST_F(EventDeskTest, AClockThatIsSetWrongRemovesNoEvents) {
  {
    auto desk = open();
    desk->look(down(), Facts{}, kNow);
    for (int day = 0; day < 5; ++day) desk->look(down(), Facts{}, kNow + 1e9 + day * 90'000);
  }
  EXPECT_EQ(read_events(folder_, 0, 100)->events.front().time.unix_seconds, kNow);
  auto desk = open();
  desk->look(down(), Facts{}, kNow + 86400);
  desk->look(down(), Facts{}, kNow + 2 * 86400);
  EXPECT_EQ(read_events(folder_, 0, 100)->events.front().time.unix_seconds, kNow);
}

// Runs in its own process with a limit for the size of its files, which acts like a full disk.
TEST_F(EventDeskTest, AFullDiskIsToldOnceAndLosesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto desk = open();
    desk->look(Verdict{}, Facts{}, kNow);
    const rlimit full{10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &full);
    for (int i = 0; i < 10; ++i) desk->look(i % 2 == 0 ? down() : Verdict{}, Facts{}, kNow + (i + 1) * 3600);
    const bool waits = desk->counts().unwritten == 9 && desk->recent(100).size() == 10;
    const std::string told = notes_;
    const bool once = told.find("events.jsonl") != std::string::npos &&
                      told.find("events.jsonl") == told.rfind("events.jsonl");
    const rlimit room{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &room);
    desk->look(Verdict{}, Facts{}, kNow + 20 * 3600);
    const bool again = notes_.find("events are written again") != std::string::npos;
    const bool all = read_events(folder_, 0, 100)->events.size() == 11;
    _exit(waits && once && again && all
              ? 0
              : (waits ? 0 : 2) + (once ? 0 : 4) + (again ? 0 : 8) + (all ? 0 : 16));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(WIFEXITED(status));
}

TEST_F(EventDeskTest, TellsAWebhookAndAfterARestartWhatItMissed) {
  bool up = false;
  std::mutex mutex;
  AlertReceiver receiver([&](int) {
    const std::lock_guard lock(mutex);
    return AlertReceiver::status(up ? 200 : 500);
  });
  options_.webhook.emplace();
  options_.webhook->url = receiver.url();
  options_.webhook->first_pause = std::chrono::milliseconds(20);
  options_.webhook->most_pause = std::chrono::milliseconds(50);
  {
    auto desk = open();
    desk->look(down(), Facts{}, kNow);
    ASSERT_TRUE(receiver.wait_for(1));
    desk->look(Verdict{}, Facts{}, kNow + 60);
    desk->look(Verdict{}, Facts{}, kNow + 60 + kHoldSeconds);
  }
  {
    const std::lock_guard lock(mutex);
    up = true;
  }
  auto desk = open();
  until([&] { return desk->counts().webhook.sent == 1; });
  const auto last = *json::parse(receiver.bodies().back());
  EXPECT_EQ(last["alerts"][0]["status"], "resolved") << "it went before the restart, and nobody had heard";
}

// A link that goes and comes each minute for ten minutes: one alert that fires, its text changes to "comes and
// goes", and it is resolved once. Nothing else reaches the receiver.
TEST_F(EventDeskTest, ALinkThatFlapsIsOneAlert) {
  AlertReceiver receiver([](int) { return AlertReceiver::status(200); });
  options_.webhook.emplace();
  options_.webhook->url = receiver.url();
  auto desk = open();
  double now = kNow;
  std::uint64_t sent = 0;
  // Each alert is accepted before the next look, so that none replaces a waiting one.
  const auto look = [&](const Verdict& verdict) {
    const std::size_t before = desk->recent(100).size();
    desk->look(verdict, Facts{}, now += 60);
    for (const NodeEvent& event : desk->recent(desk->recent(100).size() - before))
      sent += !event.rule.empty();
    until([&] { return desk->counts().webhook.sent == sent; });
  };
  for (int minute = 0; minute < 10; ++minute) look(minute % 2 == 0 ? down() : Verdict{});
  for (int minute = 0; minute < 35; ++minute) look(Verdict{});
  std::vector<std::string> told;
  std::set<std::string> fingerprints;
  for (const std::string& body : receiver.bodies()) {
    const auto message = *json::parse(body);
    for (const auto& alert : message["alerts"]) {
      told.push_back(alert["status"].get<std::string>() + ' ' +
                     alert["annotations"]["summary"].get<std::string>());
      fingerprints.insert(alert["fingerprint"].get<std::string>());
    }
  }
  EXPECT_THAT(told,
              ElementsAre("firing gpu01: mlx5_0/1 is DOWN", "firing gpu01: comes and goes: mlx5_0/1 is DOWN",
                          "resolved gpu01: mlx5_0/1 is DOWN"));
  EXPECT_EQ(fingerprints.size(), 1U);
  EXPECT_EQ(desk->counts().events, (std::map<EventKind, std::uint64_t>{{EventKind::kStarted, 1},
                                                                       {EventKind::kAppeared, 1},
                                                                       {EventKind::kFlapping, 1},
                                                                       {EventKind::kCalm, 1}}));
}

TEST_F(EventDeskTest, TellsJournald) {
  options_.journal = true;
  options_.journal_socket = folder_ + "/journal";
  auto desk = open();
  desk->look(Verdict{}, Facts{}, kNow);
  EXPECT_EQ(desk->counts().journal_refused, 1U);
  EXPECT_THAT(notes_, HasSubstr("journald at"));
  const Fd journal(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  options_.journal_socket.copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(bind(journal.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  desk->look(down(), Facts{}, kNow + 60);
  EXPECT_THAT(notes_, HasSubstr("journald takes events again"));
  char text[8192];
  const ssize_t got = recv(journal.get(), text, sizeof text, MSG_DONTWAIT);
  ASSERT_GT(got, 0);
  EXPECT_EQ(
      std::string(text, static_cast<std::size_t>(got)),
      "MESSAGE=gpu01 rdma.port-down fails: mlx5_0/1 is DOWN\nPRIORITY=3\nSYSLOG_IDENTIFIER=railbed\n"
      "RAILBED_EVENT=appeared\nRAILBED_NODE=gpu01\nRAILBED_SUBJECT=mlx5_0/1\nRAILBED_RULE=rdma.port-down\n"
      "RAILBED_STATUS=fail\nRAILBED_SINCE=2027-01-15T08:01:00Z\n");
}

TEST_F(EventDeskTest, OfAFleetNothingOfASilentNodeIsGone) {
  options_.node = "pair";
  options_.nodes = {"gpu01", "gpu02"};
  Finding rail;
  rail.rule = "net.mtu";
  rail.subject = "rail0";
  rail.status = Status::kWarn;
  Findings all = down().findings;
  all.push_back(rail);
  Evidence evidence;
  evidence.nodes["gpu01"] = Facts{};
  evidence.nodes["gpu02"] = Facts{};
  {
    auto desk = open();
    desk->look_at_fleet(all, evidence, kNow);
    EXPECT_EQ(desk->counts().events,
              (std::map<EventKind, std::uint64_t>{{EventKind::kStarted, 1}, {EventKind::kAppeared, 2}}))
        << "the watch of a fleet begins once";
    evidence.nodes.erase("gpu01");
    evidence.unreachable.push_back({"gpu01", {ErrorKind::kUnavailable, "no route to host"}});
    desk->look_at_fleet({}, evidence, kNow + 60);
    EXPECT_EQ(desk->present().size(), 2U) << "its rail has an end there";
  }
  auto desk = open();
  ASSERT_EQ(desk->present().size(), 2U) << "also over a restart";
  EXPECT_EQ(desk->since().begin()->second, kNow);
  evidence.unreachable.clear();
  evidence.nodes["gpu01"] = Facts{};
  desk->look_at_fleet({}, evidence, kNow + 120);
  EXPECT_TRUE(desk->present().empty());
  desk->look_at_fleet({}, evidence, kNow + 120 + kHoldSeconds);
  EXPECT_EQ(desk->counts().events.at(EventKind::kGone), 2U);
  EXPECT_EQ(notes_, "");
}

TEST_F(EventDeskTest, ASecondMonitorIsRefused) {
  auto desk = open();
  const pid_t child = fork();
  if (child == 0) {
    const auto second = EventDesk::open(options_);
    _exit(!second && second.error().text.find("another monitor") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(EventDeskTest, StateAndLogAreForOneUserAlone) {
  auto desk = open();
  desk->look(down(), Facts{}, kNow);
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    struct stat status = {};
    stat(file.path().c_str(), &status);
    EXPECT_EQ(status.st_mode & 07777, 0600U) << file.path();
  }
}

}  // namespace
}  // namespace railbed

#include "monitor/events/finding_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/facts.h"
#include "monitor/events/event_text.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kStart = 1'800'000'000;

Finding finding(std::string_view rule, std::string subject, Status status, std::string message) {
  Finding finding;
  finding.rule = rule;
  finding.node = "gpu01";
  finding.subject = std::move(subject);
  finding.status = status;
  finding.message = std::move(message);
  finding.remedy.text = "Mend it.";
  return finding;
}
Finding port_down() {
  Finding one = finding("rdma.port-down", "mlx5_0/1", Status::kFail, "mlx5_0/1 is DOWN");
  one.touches = {"netdev:ens6", "rdma:mlx5_0/1", "pci:0000:1b:00.0"};
  return one;
}

Facts facts_with(const std::string& firmware, const std::string& kernel = "6.8.0") {
  Facts facts;
  facts.system.kernel.release = {kernel, "/proc/sys/kernel/osrelease"};
  facts.system.kernel.boot_id = {"boot-1", "/proc/sys/kernel/random/boot_id"};
  RdmaDevice device;
  device.name = "mlx5_0";
  device.firmware = {firmware, "fw_ver"};
  device.pci_address = {"0000:1b:00.0", "device"};
  facts.rdma.devices = {{device}, "/sys/class/infiniband"};
  return facts;
}

// Returns one line for each event: kind, rule, and status or message.
std::vector<std::string> told(const std::vector<NodeEvent>& events) {
  std::vector<std::string> lines;
  for (const NodeEvent& event : events) {
    std::string line(enum_names(EventKind{})[static_cast<std::size_t>(event.kind)]);
    line += ' ' + (event.rule.empty() ? event.message : event.rule);
    if (!event.rule.empty())
      line += ' ' + std::string(enum_names(Status{})[static_cast<std::size_t>(event.status)]);
    lines.push_back(line);
  }
  return lines;
}

class FindingWatchTest : public ::testing::Test {
 protected:
  std::vector<NodeEvent> look(const Findings& findings, double after = 60) {
    now_ += after;
    return watch_.look(findings, facts_, now_);
  }
  std::vector<NodeEvent> fail_to_look(double after = 60) {
    now_ += after;
    return watch_.failed_look("the collector hangs", now_);
  }
  // Does the same as a process that restarts: restores the state from its text on the disk.
  void restart() {
    const std::string text = json::dump(json::encode(watch_.state()));
    auto state = json::read<WatchState>(text);
    ASSERT_TRUE(state) << state.error().text;
    auto watch = FindingWatch::go_on("gpu01", std::move(*state));
    ASSERT_TRUE(watch) << watch.error().text;
    watch_ = std::move(*watch);
    EXPECT_EQ(json::dump(json::encode(watch_.state())), text);
  }
  Findings unknown() const {
    return {finding("rdma.port-down", "mlx5_0/1", Status::kUnknown, "cannot be read")};
  }

  FindingWatch watch_{"gpu01"};
  Facts facts_ = facts_with("20.39");
  double now_ = kStart;
};

TEST_F(FindingWatchTest, AppearsOnceAndGoes) {
  EXPECT_THAT(told(look({port_down()})),
              ElementsAre("started looks for the first time", "appeared rdma.port-down fail"));
  EXPECT_THAT(look({port_down()}), IsEmpty());
  const Findings fine = {finding("rdma.port-down", "mlx5_0/1", Status::kPass, "ACTIVE")};
  EXPECT_THAT(look(fine), IsEmpty()) << "it may return";
  EXPECT_THAT(look(fine, kHoldSeconds - 1), IsEmpty());
  const auto gone = look(fine, 1);
  ASSERT_THAT(told(gone), ElementsAre("gone rdma.port-down fail"));
  EXPECT_EQ(gone[0].since->unix_seconds, kStart + 60);
  EXPECT_EQ(gone[0].until->unix_seconds, kStart + 180);
  EXPECT_EQ(gone[0].message, "mlx5_0/1 is DOWN");
  EXPECT_THAT(look({}), IsEmpty());
  const auto again = look({port_down()});
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].times_before, 1U);
}

TEST_F(FindingWatchTest, OnlyWhatNoOtherFindingExplains) {
  Finding effect = finding("nccl.no-ib", "gpu01", Status::kFail, "NCCL finds no adapter");
  effect.caused_by = 0;
  EXPECT_THAT(told(look({port_down(), effect})),
              ElementsAre("started looks for the first time", "appeared rdma.port-down fail"));
  effect.caused_by.reset();
  EXPECT_THAT(told(look({effect})), ElementsAre("appeared nccl.no-ib fail"));
  EXPECT_THAT(told(look({effect}, kHoldSeconds)), ElementsAre("gone rdma.port-down fail"));
}

TEST_F(FindingWatchTest, WhatAnotherExplainsNowIsStillThere) {
  look({port_down()});
  Finding cause = finding("rdma.driver", "mlx5_core", Status::kFail, "not loaded");
  Finding effect = port_down();
  effect.caused_by = 0;
  EXPECT_THAT(told(look({cause, effect})), ElementsAre("appeared rdma.driver fail"));
  EXPECT_THAT(look({port_down()}), IsEmpty());
  EXPECT_THAT(told(look({port_down()}, kHoldSeconds)), ElementsAre("gone rdma.driver fail"));
  EXPECT_THAT(look({}), IsEmpty());
  EXPECT_THAT(told(look({}, kHoldSeconds)), ElementsAre("gone rdma.port-down fail"));
}

TEST_F(FindingWatchTest, ChangesWhenItMeansSomethingElse) {
  look({finding("net.errors", "ens6", Status::kWarn, "ens6 had 12 errors")});
  EXPECT_THAT(look({finding("net.errors", "ens6", Status::kWarn, "ens6 had 1,345.5 errors")}), IsEmpty());
  const auto worse = look({finding("net.errors", "ens6", Status::kFail, "ens6 had 99999 errors")});
  ASSERT_THAT(told(worse), ElementsAre("changed net.errors fail"));
  EXPECT_EQ(worse[0].was, Status::kWarn);
  EXPECT_THAT(told(look({finding("net.errors", "ens6", Status::kFail, "ens6 lost its peer")})),
              ElementsAre("changed net.errors fail"));
}

TEST_F(FindingWatchTest, UnknownIsToldWhenItLastsAndMakesNothingGone) {
  look({port_down()});
  EXPECT_THAT(look(unknown()), IsEmpty());
  EXPECT_THAT(look({port_down()}), IsEmpty());
  EXPECT_THAT(look(unknown()), IsEmpty());
  EXPECT_THAT(look(unknown()), IsEmpty());
  EXPECT_THAT(told(look(unknown())), ElementsAre("changed rdma.port-down unknown"));
  EXPECT_THAT(look(unknown()), IsEmpty());
  look({});
  EXPECT_THAT(told(look({}, kHoldSeconds)), ElementsAre("gone rdma.port-down unknown"));
}

TEST_F(FindingWatchTest, UnknownNowAndThenIsNoEvent) {
  look({});
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(look(unknown()), IsEmpty());
    EXPECT_THAT(look({}), IsEmpty());
  }
  EXPECT_TRUE(watch_.state().findings.empty());
}

TEST_F(FindingWatchTest, ALookThatFailedMakesNothingGone) {
  look({port_down()});
  EXPECT_THAT(fail_to_look(), IsEmpty());
  EXPECT_THAT(fail_to_look(), IsEmpty());
  const auto blind = fail_to_look();
  ASSERT_THAT(told(blind), ElementsAre("appeared monitor.look unknown"));
  EXPECT_EQ(blind[0].message, "the collector hangs");
  EXPECT_THAT(look({port_down()}), IsEmpty());
  EXPECT_THAT(told(look({port_down()}, kHoldSeconds)), ElementsAre("gone monitor.look unknown"));
}

TEST_F(FindingWatchTest, FlapsOnceThenIsSilentUntilItIsStill) {
  std::vector<std::string> lines;
  const auto add = [&](const std::vector<NodeEvent>& events) {
    for (const std::string& line : told(events)) lines.push_back(line);
  };
  look({});
  for (int i = 0; i < 50; ++i) {
    add(look({port_down()}));
    add(look({}));
  }
  EXPECT_THAT(lines, ElementsAre("appeared rdma.port-down fail", "flapping rdma.port-down fail"));
  const auto now = watch_.present(now_);
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(now[0].kind, EventKind::kFlapping);
  EXPECT_EQ(now[0].flaps, 100U);
  EXPECT_EQ(now[0].flapping_since->unix_seconds, kStart + 120);
  EXPECT_FALSE(now[0].present);
  EXPECT_THAT(look({}, kFlapSeconds - 120), IsEmpty());
  const auto calm = look({}, 120);
  ASSERT_THAT(told(calm), ElementsAre("calm rdma.port-down fail"));
  EXPECT_FALSE(calm[0].present);
  EXPECT_EQ(calm[0].times_before, 49U);
  EXPECT_EQ(calm[0].flaps, 100U);
  EXPECT_THAT(look({}, kHoldSeconds), IsEmpty()) << "calm and gone is told once";
  EXPECT_EQ(told(look({port_down()})).size(), 1U);
  EXPECT_EQ(watch_.present(now_)[0].flaps, 0U) << "the next time is counted anew";
}

// A cable is reseated twice within the hold time, and a status that differs after the return is an event.
TEST_F(FindingWatchTest, WhatReturnsWithinTheHoldTimeHasNeverGone) {
  look({port_down()});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(look({}), IsEmpty());
    restart();
    EXPECT_THAT(told(look({}, kHoldSeconds - 60)).size(), 1U) << "the start alone";
    if (i == 0) {
      EXPECT_THAT(look({port_down()}, 59), IsEmpty());
    }
  }
  EXPECT_THAT(told(look({finding("rdma.port-down", "mlx5_0/1", Status::kWarn, "mlx5_0/1 is DOWN")}, 59)),
              ElementsAre("flapping rdma.port-down warn"));
  EXPECT_EQ(watch_.since().begin()->second, kStart + 60);
}

TEST_F(FindingWatchTest, ReturnsAsSomethingElse) {
  look({port_down()});
  look({});
  const auto other = look({finding("rdma.port-down", "mlx5_0/1", Status::kWarn, "mlx5_0/1 is ARMED")});
  ASSERT_THAT(told(other), ElementsAre("changed rdma.port-down warn"));
  EXPECT_EQ(other[0].was, Status::kFail);
}

TEST_F(FindingWatchTest, ALookThatFailedEndsNoHold) {
  look({port_down()});
  look({});
  for (int i = 0; i < 10; ++i)
    for (const std::string& line : told(fail_to_look())) EXPECT_THAT(line, Not(HasSubstr("gone")));
  EXPECT_THAT(told(look({})), ElementsAre("gone rdma.port-down fail"));
}

TEST_F(FindingWatchTest, CalmAndThere) {
  look({});
  for (int i = 0; i < 3; ++i) {
    look({port_down()});
    look({});
  }
  look({port_down()});
  restart();
  std::vector<NodeEvent> events;
  for (int i = 0; i < 40 && (events.empty() || events.back().kind == EventKind::kStarted); ++i)
    events = look({port_down()});
  ASSERT_THAT(told(events), ElementsAre("calm rdma.port-down fail"));
  EXPECT_TRUE(events[0].present);
  EXPECT_EQ(watch_.since().size(), 1U);
}

TEST_F(FindingWatchTest, SlowChangesAreNoFlapping) {
  look({});
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(told(look({port_down()}, 300)), ElementsAre("appeared rdma.port-down fail"));
    EXPECT_THAT(look({}, 600), IsEmpty());
    EXPECT_THAT(told(look({}, kHoldSeconds)), ElementsAre("gone rdma.port-down fail"));
  }
}

TEST_F(FindingWatchTest, ARestartLosesNothingButTheGap) {
  look({port_down()});
  restart();
  EXPECT_EQ(watch_.since().begin()->second, kStart + 60);
  const auto events = look({port_down()}, 7500);
  ASSERT_THAT(told(events), ElementsAre("started looks again after 2 h 5 min"));
  EXPECT_EQ(events[0].gap_seconds, 7500);
  look({});
  restart();
  const auto gone = look({}, kHoldSeconds);
  ASSERT_THAT(told(gone), ElementsAre("started looks again after 5 min", "gone rdma.port-down fail"));
  EXPECT_EQ(gone[1].since->unix_seconds, kStart + 60);
}

TEST_F(FindingWatchTest, NamesWhatChangedBeforeOnTheSameDevice) {
  look({});
  facts_ = facts_with("20.43");
  EXPECT_THAT(told(look({})), ElementsAre("fact-changed firmware of mlx5_0 20.39 → 20.43"));
  Finding elsewhere = finding("rdma.port-down", "mlx5_7/1", Status::kFail, "mlx5_7/1 is DOWN");
  const auto events = look({port_down(), elsewhere}, 7200);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_THAT(events[0].changes_before, ElementsAre("firmware of mlx5_0 20.39 → 20.43, 2 h before"));
  EXPECT_THAT(events[1].changes_before, IsEmpty());
  restart();
  EXPECT_THAT(watch_.present(now_)[0].changes_before,
              ElementsAre("firmware of mlx5_0 20.39 → 20.43, 2 h before"));
  look({});
  look({}, kHoldSeconds);
  EXPECT_THAT(look({port_down()}, 86400)[0].changes_before, IsEmpty()) << "more than a day ago";
}

TEST_F(FindingWatchTest, NamesChangesAcrossARebootAndOfTheWholeNode) {
  look({});
  restart();
  facts_ = facts_with("20.43", "6.11.0");
  facts_.system.kernel.boot_id = {"boot-2", ""};
  const auto events = look({port_down()}, 300);
  EXPECT_THAT(told(events),
              ElementsAre("started looks again after 5 min, during which the node was rebooted",
                          "fact-changed firmware of mlx5_0 20.39 → 20.43",
                          "fact-changed kernel 6.8.0 → 6.11.0", "appeared rdma.port-down fail"));
  EXPECT_THAT(events.back().changes_before,
              ElementsAre("firmware of mlx5_0 20.39 → 20.43, seen in the same look",
                          "kernel 6.8.0 → 6.11.0, seen in the same look",
                          "the node was booted, seen in the same look"));
}

TEST_F(FindingWatchTest, AFactThatChangesAllTheTimeIsToldFiveTimesADay) {
  look({});
  std::size_t events = 0;
  for (int i = 0; i < 200; ++i) {
    facts_ = facts_with(std::to_string(i));
    events += look({}).size();
  }
  EXPECT_EQ(events, kOftenChanged);
  EXPECT_EQ(look({}, 86400).size(), 0U);
  facts_ = facts_with("other");
  EXPECT_EQ(look({}).size(), 1U);
}

TEST_F(FindingWatchTest, TheClockIsSetBack) {
  look({port_down()});
  EXPECT_THAT(look({port_down()}, -86400), IsEmpty());
  for (int i = 0; i < 6; ++i) look(i % 2 == 0 ? Findings{} : Findings{port_down()});
  EXPECT_THAT(told(look({port_down()}, kFlapSeconds)), ElementsAre("calm rdma.port-down fail"))
      << "half an hour is half an hour, whatever the clock says";
}

TEST_F(FindingWatchTest, AClockThatIsNotSetYet) {
  look({port_down()});
  restart();
  now_ = 100;
  EXPECT_THAT(told(look({port_down()}, 0)), ElementsAre("started looks again after 0 s"));
  now_ = kStart + 600;
  EXPECT_THAT(look({port_down()}, 0), IsEmpty());
  EXPECT_EQ(watch_.since().begin()->second, kStart + 60);
}

TEST_F(FindingWatchTest, HostileTextStaysALine) {
  Finding bad = port_down();
  bad.subject = "mlx5\x1b[2J\n" + std::string(5000, 'x');
  bad.message = "\x1b]0;owned\x07\n\xff\u202e" + std::string(100'000, 'm');
  const auto events = look({bad});
  ASSERT_EQ(events.size(), 2U);
  const std::string line = event_line(events[1]);
  EXPECT_LT(line.size(), 10'000U);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string text = events_text(events);
  for (const char* wrong : {"\x1b", "\x07", "\u202e"}) EXPECT_EQ(text.find(wrong), std::string::npos);
  EXPECT_TRUE(parse_event_line(line));
  restart();
}

TEST_F(FindingWatchTest, MoreFindingsThanItFollows) {
  Findings many;
  for (std::size_t i = 0; i < kMostTracked + 10; ++i)
    many.push_back(finding("a.rule", std::to_string(i), Status::kWarn, "wrong"));
  EXPECT_EQ(look(many).size(), kMostTracked + 1);
  EXPECT_EQ(watch_.left_out(), 10U);
  restart();
  look({});
  EXPECT_EQ(watch_.left_out(), 0U);
  const auto made = look({port_down()});
  ASSERT_EQ(made.size(), 2U) << "what is gone makes room";
  EXPECT_EQ(made[0].kind, EventKind::kGone) << "and is told first";
  EXPECT_EQ(made[1].kind, EventKind::kAppeared);
}

TEST_F(FindingWatchTest, AStateOfAnotherNodeOrOfNonsenseIsRefused) {
  look({port_down()});
  EXPECT_FALSE(FindingWatch::go_on("gpu02", watch_.state()));
  const auto refused = [&](auto&& spoil) {
    WatchState state = watch_.state();
    spoil(state);
    return !FindingWatch::go_on("gpu01", std::move(state));
  };
  EXPECT_TRUE(refused([](WatchState& state) { state.last_look = -1; }));
  EXPECT_TRUE(refused([](WatchState& state) { state.age = 1e300; }));
  EXPECT_TRUE(refused([](WatchState& state) { state.findings[0].since = 1e300; }));
  EXPECT_TRUE(refused([](WatchState& state) { state.findings[0].turns.assign(1000, 1); }));
  EXPECT_TRUE(refused([](WatchState& state) { state.findings[0].turns = {5000}; })) << "in the future";
  EXPECT_TRUE(refused([](WatchState& state) { state.findings[0].seen = 5000; }));
  EXPECT_TRUE(refused([](WatchState& state) { state.findings[0].flapping_since = -1; }));
  EXPECT_TRUE(refused([](WatchState& state) { state.findings[0].rule.clear(); }));
  EXPECT_TRUE(refused([](WatchState& state) { state.findings.resize(100'000, state.findings[0]); }));
  EXPECT_TRUE(refused([](WatchState& state) { state.changes.resize(1000); }));
}

TEST(EventText, SaysWhatCameAndWhatWasBefore) {
  setenv("TZ", "UTC", 1);
  tzset();
  NodeEvent event;
  event.time = {kStart};
  event.kind = EventKind::kAppeared;
  event.node = "gpu01";
  event.rule = "rdma.port-down";
  event.subject = "mlx5_0/1";
  event.status = Status::kFail;
  event.message = "mlx5_0/1 is DOWN";
  event.remedy = "Plug the cable in.";
  event.times_before = 2;
  event.changes_before = {"firmware of mlx5_0 20.39 → 20.43, 2 h before"};
  EXPECT_EQ(
      events_text({event}),
      "2027-01-15 08:00:00  appeared      gpu01 rdma.port-down fails: mlx5_0/1 is DOWN (2 times before)\n"
      "                                   before it: firmware of mlx5_0 20.39 → 20.43, 2 h before\n"
      "                                   remedy: Plug the cable in.\n");
  event.kind = EventKind::kGone;
  event.since = UtcTime{kStart - 3700};
  event.until = UtcTime{kStart - 100};
  EXPECT_THAT(events_text({event}), HasSubstr("gpu01 rdma.port-down is gone, after 1 h: mlx5_0/1 is DOWN"));
  event.kind = EventKind::kFlapping;
  event.flaps = 5;
  event.flapping_since = UtcTime{kStart - 600};
  EXPECT_THAT(
      events_text({event}),
      HasSubstr("rdma.port-down comes and goes (5 changes since 2027-01-15 07:50:00); it is not reported "
                "again until it settles: mlx5_0/1 is DOWN"));
  event.kind = EventKind::kCalm;
  EXPECT_THAT(events_text({event}),
              HasSubstr("has settled and is gone (5 changes since 2027-01-15 07:50:00): "));
}

TEST(EventText, Spans) {
  EXPECT_EQ(span_text(-5), "0 s");
  EXPECT_EQ(span_text(59.9), "59 s");
  EXPECT_EQ(span_text(3599), "59 min");
  EXPECT_EQ(span_text(7200), "2 h");
  EXPECT_EQ(span_text(90000), "1 d 1 h");
  EXPECT_EQ(span_text(1e300), "11574074 d 1 h");
}

}  // namespace
}  // namespace railbed

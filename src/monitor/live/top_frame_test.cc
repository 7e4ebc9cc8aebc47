#include "monitor/live/top_frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/live/top_text.h"

namespace railbed {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kFrameTime = 1'800'000'000;

LiveEnd end_of(const std::string& node, const std::string& device, Health health) {
  LiveEnd end;
  end.node = node;
  end.interface = "ens11np0";
  end.device = device;
  end.health = health;
  end.state = health == Health::kGood ? "ACTIVE" : "DOWN";
  end.rate = BitRate::gigabits(400);
  if (health == Health::kGood) {
    end.receive = 43.2e9;
    end.transmit = 1.25e9;
    end.receive_samples = {0.0, 10e9, std::nullopt, 25e9, 43.2e9};
    end.transmit_samples = {1.25e9};
  }
  return end;
}

LiveFinding finding_of(const std::string& headline, Status status) {
  LiveFinding finding;
  finding.rule = "net.carrier";
  finding.headline = headline;
  finding.status = status;
  finding.message = headline + ": no cable, a dead cable, or the other end is off";
  finding.remedy = "Plug the cable in at both ends, or have the other end switched on.";
  finding.commands = {"ethtool -m ens12np0"};
  finding.since = kFrameTime - 200;
  finding.times_before = 2;
  finding.explains = 2;
  finding.changes_before = {"firmware of mlx5_1 20.39.1002 → 20.43.1014, 2 min before"};
  return finding;
}

LiveView pair() {
  LiveView view;
  view.made_at = kFrameTime;
  view.title = "h100-pair";
  view.sentence = "gpu02: ens12np0 has no link";
  view.health = Health::kBad;
  view.failures = 3;
  view.warnings = 1;
  view.passed = 412;
  for (const std::string name : {"gpu01", "gpu02"}) {
    LiveNode& node = view.nodes.emplace_back();
    node.name = name;
    node.reachable = true;
    node.look_age = 12;
    node.health = name == "gpu02" ? Health::kBad : Health::kGood;
  }
  LiveGpu& gpu = view.nodes[1].gpus.emplace_back();
  gpu.pci_address = "0000:17:00.0";
  gpu.health = Health::kWarn;
  gpu.trouble = "86 °C";
  gpu.utilisation = 97;
  gpu.temperature = 86;
  gpu.power = 690;
  gpu.utilisation_samples = {20, 97};
  LiveRail& rail = view.rails.emplace_back();
  rail.name = "rail0";
  rail.ends = {end_of("gpu01", "mlx5_0/1", Health::kGood), end_of("gpu02", "mlx5_0/1", Health::kBad)};
  view.findings = {finding_of("gpu02: ens12np0 has no link", Status::kFail),
                   finding_of("gpu02: the clock of the processor falls between messages", Status::kWarn)};
  view.findings[1].since.reset();
  view.findings[1].flaps = 5;
  view.findings[1].flapping_since = kFrameTime - 720;
  NodeEvent& event = view.events.emplace_back();
  event.time = {kFrameTime - 200};
  event.kind = EventKind::kAppeared;
  event.node = "gpu02";
  event.rule = "net.carrier";
  event.subject = "ens12np0";
  event.status = Status::kFail;
  event.message = "ens12np0 of gpu02 has no link";
  return view;
}

std::string text_of(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

TEST(TopFrame, AtEightyColumns) {
  EXPECT_EQ(text_of(top_frame(pair(), {}, {.width = 80, .height = 0})),
            R"(h100-pair  broken                                                      08:00:00Z
gpu02: ens12np0 has no link
3 fail, 1 warn, 0 could not be looked at, 412 pass
WHAT IS WRONG
> FAIL gpu02: ens12np0 has no link                                   since 3 min
  warn gpu02: the clock of the processor falls between messages
                                                             5 changes in 12 min
NODES
  1 of 2 are healthy
  gpu02  broken                                               looked at 12 s ago
RAILS   node  port     state  rate     in             out            errors
  rail0 gpu02 mlx5_0/1 DOWN   400 Gb/s     -              -
  rail0 gpu01 mlx5_0/1 ACTIVE 400 Gb/s 43.2G    ▁▂ ▅▇  1.2G        ▁
GPUS
  gpu02 0000:17:00.0  97%               ▂█   86 C  690 W  86 °C
WHAT HAPPENED
      3 min ago  gpu02 net.carrier fails: ens12np0 of gpu02 has no link
)");
}

// Long names and sentences go on in further lines.
TEST(TopFrame, CutsNothing) {
  LiveView view = pair();
  const std::string node = "rack12-gpu-server-0047.cluster.example.org";
  view.sentence = "gpu02: " + std::string(30, 'a') + ' ' + std::string(60, 'b') + ' ' + std::string(20, 'c');
  view.nodes[1].name = view.rails[0].ends[0].node = node;
  view.rails[0].ends[0].device = "mlx5_bond_rail_0/1";
  view.findings[0].headline = node + ": ens12np0 has no link, and neither has the other end of the cable";
  view.events[0].message = "the end of " + std::string(50, 'd') + " in a long message";
  for (const int width : {40, 80, 120}) {
    const auto lines = top_frame(view, {}, {.width = width, .height = 0});
    std::string all;
    for (const std::string& line : lines) {
      EXPECT_LE(length_of(line), static_cast<std::size_t>(width)) << line;
      all += line + ' ';
    }
    std::erase(all, ' ');
    for (std::string text : {view.sentence, view.findings[0].headline, view.findings[1].headline, node,
                             view.rails[0].ends[0].device, view.events[0].message}) {
      std::erase(text, ' ');
      EXPECT_THAT(all, HasSubstr(text)) << width;
    }
  }
}

TEST(TopFrame, AtFortyColumnsInAsciiWithARemedy) {
  TopPlace place;
  place.opened = true;
  EXPECT_EQ(text_of(top_frame(pair(), place, {.width = 40, .height = 34, .unicode = false})),
            R"(h100-pair  broken              08:00:00Z
gpu02: ens12np0 has no link
3 fail, 1 warn, 0 could not be looked
at, 412 pass
WHAT IS WRONG
> FAIL gpu02: ens12np0 has no link
                             since 3 min
       gpu02: ens12np0 has no link: no
       cable, a dead cable, or the
       other end is off
       It was there 2 times before.
       It explains 2 other findings.
       before it: firmware of mlx5_1
       20.39.1002 -> 20.43.1014, 2 min
       before
       remedy: Plug the cable in at
       both ends, or have the other end
       switched on.
         ethtool -m ens12np0
       more: railbed explain net.carrier
  warn gpu02: the clock of the
       processor falls between messages
                     5 changes in 12 min
NODES
  1 of 2 are healthy
  gpu02  broken       looked at 12 s ago
RAILS
  rail0 gpu02 mlx5_0/1
    DOWN   400 Gb/s     -
    -
  rail0 gpu01 mlx5_0/1
    ACTIVE 400 Gb/s 43.2G    _. =*
    1.2G        _
q leave  Enter remedy 7 more lines below
)");
}

std::size_t characters(const std::string& line) { return wrapped(line, 100000).front().size(); }

TEST(TopFrame, FitsWhateverTheTerminalIs) {
  for (const int width : {1, 8, 20, 40, 79, 80, 200})
    for (const int height : {1, 2, 3, 5, 24, 100}) {
      TopPlace place;
      place.opened = true;
      const auto lines = top_frame(pair(), place, {.width = width, .height = height, .unicode = false});
      EXPECT_EQ(lines.size(), static_cast<std::size_t>(height)) << width << " x " << height;
      for (const std::string& line : lines) EXPECT_LE(characters(line), static_cast<std::size_t>(width));
    }
}

TEST(TopFrame, WhatComesFromNodesIsHarmless) {
  LiveView view = pair();
  const std::string hostile = "\x1b]0;mine\x07\x1b[2J\r\n\xff";
  view.title = view.sentence = view.nodes[1].name = view.nodes[1].why = hostile;
  view.nodes[1].reachable = false;
  view.rails[0].name = view.rails[0].ends[0].node = view.rails[0].ends[0].state = hostile;
  for (std::string* event :
       {&view.findings[0].headline, &view.findings[0].message, &view.findings[0].remedy,
        &view.findings[0].commands[0], &view.findings[0].changes_before[0], &view.findings[0].rule,
        &view.nodes[1].gpus[0].trouble, &view.nodes[1].gpus[0].pci_address, &view.events[0].message,
        &view.events[0].node})
    *event = hostile;
  TopPlace place;
  place.opened = true;
  EXPECT_THAT(top_frame(view, place, {.width = 80, .height = 0}), Each(Not(HasSubstr("\x1b"))));
  EXPECT_THAT(top_frame(view, place, {.width = 80, .height = 0}), Each(Not(HasSubstr("\r"))));
}

TEST(TopFrame, ColoursOnlyWhereTheyAreWanted) {
  EXPECT_THAT(text_of(top_frame(pair(), {}, {})), Not(HasSubstr("\x1b")));
  EXPECT_THAT(text_of(top_frame(pair(), {}, {.colour = true})), HasSubstr("\x1b[31m"));
}

TEST(TopFrame, KeysMoveThroughFindingsAndPages) {
  const LiveView view = pair();
  const TopStyle style{.width = 80, .height = 8};
  TopPlace place = after_key({}, TopKey::kDown, view, style);
  EXPECT_EQ(place.selected, 1U);
  place = after_key(place, TopKey::kDown, view, style);
  EXPECT_EQ(place.selected, 1U) << "there is no third";
  place = after_key(place, TopKey::kUp, view, style);
  EXPECT_EQ(place.selected, 0U);
  place = after_key(place, TopKey::kPageDown, view, style);
  EXPECT_GT(place.scrolled, 0U);
  EXPECT_THAT(text_of(top_frame(view, place, style)), Not(HasSubstr("WHAT IS WRONG")));
  for (int i = 0; i < 20; ++i) place = after_key(place, TopKey::kPageDown, view, style);
  EXPECT_THAT(text_of(top_frame(view, place, style)), HasSubstr("has no link"));
  for (int i = 0; i < 20; ++i) place = after_key(place, TopKey::kPageUp, view, style);
  EXPECT_EQ(place.scrolled, 0U);
}

TEST(TopFrame, FaultsAloneAndHelp) {
  const LiveView view = pair();
  TopPlace place = after_key({}, TopKey::kFaults, view, {});
  EXPECT_THAT(text_of(top_frame(view, place, {})), Not(HasSubstr("RAILS")));
  place = after_key(place, TopKey::kHelp, view, {});
  EXPECT_THAT(text_of(top_frame(view, place, {})), HasSubstr("KEYS"));
}

TEST(TopFrame, AViewOfNothing) { EXPECT_THAT(text_of(top_frame({}, {}, {})), HasSubstr("nothing")); }

TEST(TopText, Sparklines) {
  EXPECT_EQ(sparkline({0.0, 50.0, std::nullopt, 100.0}, 6, 100, true), "  ▁▅ █");
  EXPECT_EQ(sparkline({1.0, 2.0, 3.0, 4.0}, 2, 0, false), "*#");
  EXPECT_EQ(sparkline({}, 3, 1, true), "   ");
}

TEST(TopText, RatesInFiveCharacters) {
  EXPECT_EQ(bytes_a_second(0), "0");
  EXPECT_EQ(bytes_a_second(999.6), "1.0k");
  EXPECT_EQ(bytes_a_second(43.2e9), "43.2G");
  EXPECT_EQ(bytes_a_second(440e6), "440M");
}

}  // namespace
}  // namespace railbed

#include "monitor/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "monitor/families.h"
#include "monitor/probe_schedule.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

TEST(ProbeSchedule, EverybodyMeetsExactlyOneInEachMeeting) {
  for (std::size_t count : {2U, 4U, 8U, 100U})
    for (std::uint64_t round = 0; round < count - 1; ++round)
      for (std::size_t own = 0; own < count; ++own) {
        const auto met = partners(count, own, round, 1);
        ASSERT_EQ(met.size(), 1U);
        EXPECT_NE(met.front(), own);
        EXPECT_EQ(partners(count, met.front(), round, 1), std::vector{own});
      }
}

TEST(ProbeSchedule, AllHaveMetInDueTime) {
  for (std::size_t count = 2; count <= 41; ++count) {
    std::vector<std::size_t> others;
    for (std::size_t one = 0; one < count; ++one)
      if (one != count / 2) others.push_back(one);
    std::set<std::size_t> met;
    for (std::uint64_t round = 700; round < 700 + (count + 3) / 4; ++round)
      for (const std::size_t partner : partners(count, count / 2, round, 4)) met.insert(partner);
    EXPECT_THAT(met, UnorderedElementsAreArray(others)) << count;
  }
}

TEST(ProbeSchedule, IsBoundedAndNamesNobodyTwice) {
  for (std::uint64_t round = 0; round < 2000; ++round) {
    auto met = partners(1000, 17, round, kPartnersPerRound);
    EXPECT_EQ(met.size(), kPartnersPerRound);
    EXPECT_EQ(std::set(met.begin(), met.end()).size(), met.size());
  }
  EXPECT_TRUE(partners(1, 0, 5, 4).empty());
  EXPECT_TRUE(partners(4, 4, 5, 4).empty());
}

TEST(RoundTrips, FallIntoTheFirstBoundThatHoldsThem) {
  RoundTrips trips;
  for (const double seconds : {1e-6, 1.1e-6, 0.1, 0.2}) trips.add(seconds);
  EXPECT_EQ(trips.counts.front(), 1U);
  EXPECT_EQ(trips.counts[1], 1U);
  EXPECT_EQ(trips.counts[kRoundTripBounds.size() - 1], 1U);
  EXPECT_EQ(trips.counts.back(), 1U);
  EXPECT_EQ(trips.total, 4U);
  EXPECT_DOUBLE_EQ(trips.sum, 0.3000021);
}

using Counted = std::map<std::string, std::uint64_t>;

TEST(PriorityCounts, KnowTheNamesOfThreeDrivers) {
  const PriorityCounts counts = priority_counts({{"tx_prio3_packets", 7},
                                                 {"rx_prio3_bytes", 1},
                                                 {"rx_prio_5_packets", 8},
                                                 {"tx_packets_pri0", 9},
                                                 {"tx_prio3_pause", 1},
                                                 {"tx_prio8_packets", 1},
                                                 {"tx_packets", 1}});
  EXPECT_EQ(counts.sent, (Counted{{"3", 7}, {"0", 9}}));
  EXPECT_EQ(counts.received, (Counted{{"5", 8}}));
}

TEST(PriorityVerdict, RightWhereTheExpectedOneMovedByAllAtLeast) {
  const auto sight = judge_priority(3, 65, {{"0", 10}, {"3", 100}}, {{"0", 900}, {"3", 165}});
  EXPECT_EQ(sight.verdict, PriorityVerdict::kRight);
  EXPECT_EQ(sight.seen, "3");
}

TEST(PriorityVerdict, WrongOnlyWhereItStoodStillAndAnotherCarriedThem) {
  const auto wrong = judge_priority(3, 65, {{"0", 10}, {"3", 100}}, {{"0", 75}, {"3", 100}});
  EXPECT_EQ(wrong.verdict, PriorityVerdict::kWrong);
  EXPECT_EQ(wrong.seen, "0");
  const auto several =
      judge_priority(3, 65, {{"0", 0}, {"1", 0}, {"3", 0}}, {{"0", 99}, {"1", 99}, {"3", 0}});
  EXPECT_EQ(several.verdict, PriorityVerdict::kWrong);
  EXPECT_EQ(several.seen, "several");
}

TEST(PriorityVerdict, ElseItCannotBeTold) {
  const Counted before{{"0", 10}, {"3", 100}};
  for (const Counted& after : {Counted{{"0", 40}, {"3", 100}},   // not counted
                               Counted{{"0", 900}, {"3", 101}},  // of others, or only a part
                               Counted{{"0", 5}, {"3", 2}},      // the driver reset its counters
                               Counted{}})
    EXPECT_EQ(judge_priority(3, 65, before, after).verdict, PriorityVerdict::kUntold);
  EXPECT_EQ(judge_priority(3, 65, {}, {{"0", 900}, {"3", 0}}).verdict, PriorityVerdict::kUntold);
  EXPECT_EQ(judge_priority(3, 0, before, before).verdict, PriorityVerdict::kUntold);
  EXPECT_EQ(judge_priority(3, 65, {{"0", 1}}, {{"0", 900}}).verdict, PriorityVerdict::kUntold);
}

Cluster cluster_of(int nodes) {
  Cluster cluster;
  Rail rail;
  rail.name = "rail0";
  for (int i = 0; i < nodes; ++i) {
    cluster.nodes.emplace_back().name = "n" + std::to_string(i);
    rail.ports.push_back(
        {"n" + std::to_string(i), "eth1",
         IpAddress::parse("10.0." + std::to_string(i / 200) + "." + std::to_string(1 + i % 200))});
  }
  cluster.rails.push_back(std::move(rail));
  return cluster;
}

TEST(ProbePlan, LeavesOutWhatHasNoAddressAndKnowsThePriority) {
  Cluster cluster = cluster_of(3);
  cluster.nodes[1].expect.traffic_class = 104;
  cluster.rails[0].ports[0].address.reset();
  const ProbePlan plan = plan_probes(cluster, "n1");
  ASSERT_EQ(plan.rails.size(), 1U);
  EXPECT_EQ(plan.rails[0].others.size(), 2U);
  EXPECT_EQ(plan.rails[0].own, 0U);
  EXPECT_EQ(plan.rails[0].priority, 3);
  EXPECT_TRUE(plan_probes(cluster, "n0").rails.empty());
  EXPECT_TRUE(plan_probes(cluster, "stranger").rails.empty());
  cluster.nodes[1].configure.pfc_priority = 5;
  EXPECT_EQ(plan_probes(cluster, "n1").rails[0].priority, 5);
  EXPECT_EQ(plan_probes(cluster, "n2").rails[0].priority, std::nullopt);
}

ProbeRound round_with(PeerProbe probe) {
  probe.rail = "rail0";
  probe.peer = "n1";
  ProbeRound round{.when = 1000};
  round.probes.push_back(std::move(probe));
  return round;
}

std::string shown(const ProbeState& state) {
  NodeState node;
  node.probes = std::make_shared<const ProbeState>(state);
  Exposition out;
  add_probes(node, out);
  return out.take();
}

TEST(ProbeState, ShowsHistogramLossAndReason) {
  const ProbePlan plan = plan_probes(cluster_of(2), "n0");
  ProbeState state;
  PeerProbe good;
  good.tcp = {.sent = 3, .round_trips = {4e-5, 6e-5}, .answered = 3};
  state.add(round_with(good), plan);
  PeerProbe bad;
  bad.tcp = {.sent = 3, .reason = ProbeReason::kLost, .why = "x"};
  state.add(round_with(bad), plan);
  const std::string text = shown(state);
  for (
      const char* line :
      {"railbed_probe_round_trip_seconds_bucket{rail=\"rail0\",peer=\"n1\",transport=\"tcp\",le=\"5e-05\"} 1\n",
       "railbed_probe_round_trip_seconds_bucket{rail=\"rail0\",peer=\"n1\",transport=\"tcp\",le=\"+Inf\"} 2\n",
       "railbed_probe_round_trip_seconds_count{rail=\"rail0\",peer=\"n1\",transport=\"tcp\"} 2\n",
       "railbed_probe_messages_sent_total{rail=\"rail0\",peer=\"n1\",transport=\"tcp\"} 6\n",
       "railbed_probe_messages_lost_total{rail=\"rail0\",peer=\"n1\",transport=\"tcp\"} 3\n",
       "railbed_probe_failures_total{rail=\"rail0\",peer=\"n1\",transport=\"tcp\",reason=\"lost\"} 1\n",
       "railbed_probe_failed{rail=\"rail0\",peer=\"n1\",transport=\"tcp\",reason=\"lost\"} 1\n",
       "railbed_probe_success_timestamp_seconds{rail=\"rail0\",peer=\"n1\",transport=\"tcp\"} 1000\n",
       "railbed_probe_paused{reason=\"job\"} 0\n"})
    EXPECT_THAT(text, HasSubstr(line));
  state.add({.when = 2000, .pause = {"job", "a job"}}, plan);
  EXPECT_THAT(shown(state), HasSubstr("railbed_probe_paused{reason=\"job\"} 1\n"));
  EXPECT_THAT(shown(state), Not(HasSubstr("railbed_probe_failed{")));
}

TEST(ProbeState, OfALargeRailSeriesDoNotGrowWithItsPeers) {
  const ProbePlan plan = plan_probes(cluster_of(400), "n0");
  ProbeState state;
  for (int peer = 1; peer < 400; ++peer) {
    ProbeRound round = round_with({.tcp = {.sent = 1, .round_trips = {1e-5}, .answered = 1}});
    round.probes[0].peer = "n" + std::to_string(peer);
    state.add(std::move(round), plan);
  }
  EXPECT_EQ(state.series.size(), 1U);
  EXPECT_EQ(state.series.begin()->second.round_trips.total, 399U);
}

TEST(ProbeState, AWrongPriorityIsZeroAndAnUnknownOneIsNoSample) {
  PeerProbe probe;
  probe.tcp = {.sent = 1, .round_trips = {1e-5}, .answered = 1};
  probe.priorities = {{.verdict = PriorityVerdict::kWrong, .expected = 3, .seen = "0"},
                      {.there = true, .verdict = PriorityVerdict::kUntold, .expected = 3, .why = "y"}};
  ProbeState state;
  state.add(round_with(probe), plan_probes(cluster_of(2), "n0"));
  const std::string text = shown(state);
  EXPECT_THAT(text, HasSubstr("end=\"here\",direction=\"received\",expected=\"3\",seen=\"0\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("end=\"there\"")));
  EXPECT_THAT(text, HasSubstr("railbed_probe_priorities_untold 1\n"));
  EXPECT_EQ(probe_exit_code(state.last), kExitFailures);
}

NodeState bmc_state() {
  BmcFacts bmc;
  bmc.power = {PowerState::kOn, "x"};
  bmc.events = {std::vector<BmcEvent>(2), "x"};
  bmc.sensors = {
      std::vector<BmcSensor>{
          {.name = "Inlet",
           .type = "Temperature",
           .severity = BmcSeverity::kNominal,
           .reading = 24,
           .units = "C"},
          {.name = "Fan1", .type = "Fan", .severity = BmcSeverity::kCritical, .reading = 0, .units = "RPM"},
          {.name = "Duty", .type = "Fan", .severity = BmcSeverity::kNominal, .reading = 21, .units = "%"},
          {.name = "PS\"1", .type = "Power Supply", .severity = BmcSeverity::kUnknown}},
      "x"};
  NodeState state;
  state.bmc = std::make_shared<const BmcFacts>(std::move(bmc));
  return state;
}

TEST(BmcMetrics, ByTheNamesOfIpmiExporter) {
  Exposition out;
  add_bmc(bmc_state(), out);
  const std::string text = out.take();
  for (const char* line :
       {"ipmi_up{collector=\"ipmi\"} 1\n", "ipmi_chassis_power_state 1\n", "ipmi_sel_entries_count 2\n",
        "ipmi_temperature_celsius{id=\"1\",name=\"Inlet\"} 24\n",
        "ipmi_fan_speed_rpm{id=\"2\",name=\"Fan1\"} 0\n", "ipmi_fan_speed_state{id=\"2\",name=\"Fan1\"} 2\n",
        "ipmi_fan_speed_ratio{id=\"3\",name=\"Duty\"} 0.21\n",
        "ipmi_sensor_value{id=\"4\",name=\"PS\\\"1\",type=\"Power Supply\"} NaN\n",
        "ipmi_sensor_state{id=\"4\",name=\"PS\\\"1\",type=\"Power Supply\"} NaN\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace railbed

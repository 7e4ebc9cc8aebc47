#include "monitor/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "campaign/gather.h"

namespace railbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kTrees = RAILBED_SOURCE_DIR "/tests/machines/";

Evidence evidence_of(const std::string& machine) {
  Sources sources;
  sources.root = kTrees + machine;
  auto evidence = gather_evidence(sources, {}, {});
  EXPECT_TRUE(evidence) << evidence.error().text;
  return std::move(*evidence);
}

LiveView view_of(const std::string& machine, const std::vector<std::string>& names) {
  const Evidence evidence = evidence_of(machine);
  return live_view(evidence, verify(evidence).findings, names);
}

TEST(LiveView, ASoundPairIsAsItShouldBe) {
  const LiveView view = view_of("h100-cx7", {"gpu01", "gpu02"});
  EXPECT_EQ(view.failures, 0U);
  ASSERT_EQ(view.nodes.size(), 2U);
  EXPECT_TRUE(view.nodes[0].reachable);
  EXPECT_EQ(view.nodes[0].gpus.size(), 8U);
  ASSERT_EQ(view.rails.size(), 8U);
  EXPECT_EQ(view.rails[0].kind, "RoCE");
  ASSERT_EQ(view.rails[0].ends.size(), 2U);
  const LiveEnd& end = view.rails[0].ends[0];
  EXPECT_EQ(end.node, "gpu01");
  EXPECT_EQ(end.interface, "ens11np0");
  EXPECT_EQ(end.device, "mlx5_0/1");
  EXPECT_EQ(end.state, "ACTIVE");
  EXPECT_EQ(end.rate, BitRate::gigabits(400));
  EXPECT_EQ(end.expected_rate, BitRate::gigabits(400));
  EXPECT_EQ(end.mtu, 9000);
  EXPECT_FALSE(end.receive) << "nothing was counted yet";
}

TEST(LiveView, ABrokenRailIsNamedWithItsEnd) {
  const LiveView view = view_of("v100-port-down", {"gpuserver1", "gpuserver2"});
  EXPECT_EQ(view.health, Health::kBad);
  ASSERT_FALSE(view.findings.empty());
  EXPECT_EQ(view.findings[0].status, Status::kFail);
  EXPECT_FALSE(view.findings[0].remedy.empty());
  EXPECT_THAT(view.sentence, HasSubstr(view.findings[0].headline));
  const auto bad =
      std::ranges::count_if(view.rails, [](const LiveRail& r) { return r.health >= Health::kBad; });
  EXPECT_GE(bad, 1);
}

TEST(LiveView, ANodeWithoutFactsIsShownWithWhy) {
  Evidence evidence = evidence_of("h100-cx7");
  evidence.nodes.erase("gpu02");
  const LiveView waiting = live_view(evidence, {}, {"gpu01", "gpu02"});
  EXPECT_EQ(waiting.nodes[1].why, "not asked yet");
  EXPECT_EQ(waiting.nodes[1].health, Health::kUnknown);
  evidence.unreachable.push_back({"gpu02", {ErrorKind::kUnavailable, "no route to host"}});
  const LiveView view = live_view(evidence, verify(evidence).findings, {"gpu01", "gpu02"});
  EXPECT_FALSE(view.nodes[1].reachable);
  EXPECT_EQ(view.nodes[1].why, "no route to host");
  EXPECT_EQ(view.nodes[1].health, Health::kUnreachable);
  EXPECT_EQ(view.rails[0].ends[1].health, Health::kUnreachable);
}

TEST(LiveView, ANodeAloneShowsItsOwnEnds) {
  const LiveView view = view_of("h100-cx7", {"gpu01"});
  ASSERT_EQ(view.rails.size(), 8U);
  EXPECT_EQ(view.rails[0].ends.size(), 1U);
}

TEST(LiveView, WithoutRailsTheRdmaInterfacesAreShown) {
  Evidence evidence = evidence_of("h100-cx7");
  evidence.cluster = {};
  const LiveView view = live_view(evidence, {}, {"gpu01"});
  ASSERT_EQ(view.rails.size(), 1U);
  EXPECT_EQ(view.rails[0].name, "");
  EXPECT_GE(view.rails[0].ends.size(), 8U);
  EXPECT_EQ(view.title, "gpu01");
}

NodeEvent event(const std::string& node, double since) {
  NodeEvent event;
  event.rule = "rdma.port-down";
  event.node = node;
  event.subject = "mlx5_0/1";
  event.since = UtcTime{since};
  event.changes_before = {"firmware of mlx5_0 20.39 → 20.43, 2 h before"};
  return event;
}

TEST(LiveView, TheStoryOfAFindingOnSeveralNodesBeginsWithTheFirst) {
  LiveView view;
  view.title = "pair";
  LiveFinding& finding = view.findings.emplace_back();
  finding.rule = "rdma.port-down";
  finding.subject = "mlx5_0/1";
  finding.nodes = {"gpu01", "gpu02"};
  view.findings.push_back(finding);
  view.findings[1].nodes = {};
  add_story(view, {event("gpu01", 2000), event("gpu02", 1000), event("pair", 3000)}, {});
  EXPECT_EQ(view.findings[0].since, 1000);
  EXPECT_THAT(view.findings[0].changes_before, ElementsAre(HasSubstr("firmware of mlx5_0")));
  EXPECT_EQ(view.findings[1].since, 3000) << "of the cluster as a whole";
}

TEST(LiveView, OfEventsTheNewestComesFirst) {
  LiveView view;
  std::vector<NodeEvent> recent(kLiveEvents + 5);
  for (std::size_t i = 0; i < recent.size(); ++i) recent[i].time = {static_cast<double>(i)};
  add_story(view, {}, recent);
  ASSERT_EQ(view.events.size(), kLiveEvents);
  EXPECT_EQ(view.events[0].time.unix_seconds, static_cast<double>(recent.size() - 1));
}

TEST(LiveView, ComesBackFromItsText) {
  LiveView view = view_of("v100-port-down", {"gpuserver1", "gpuserver2"});
  view.rails[0].ends[0].receive_samples = {1.5, std::nullopt};
  view.events = {event("gpu01", 1000)};
  const std::string text = json::dump(json::encode(view));
  const auto read = json::read<LiveView>(text);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(json::dump(json::encode(*read)), text);
  EXPECT_THAT(read->rails[0].ends[0].receive_samples, ElementsAre(1.5, std::nullopt));
}

}  // namespace
}  // namespace railbed

#include "report/text/pairs_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RailReport sample(std::vector<Slow> slow) {
  RailReport rail;
  rail.rail = "rail0";
  rail.nodes = {"gpu01", "gpu02", "gpu03", "gpu04"};
  rail.report.nodes = 4;
  rail.report.rounds = 3;
  rail.report.together = 40e9;
  rail.report.slow = std::move(slow);
  return rail;
}

TEST(PairsText, TheFirstLinesSayWhoIsSlowAndWhatToDo) {
  const std::string text = pairs_text(sample({{SlowKind::kSending, 2, -1, 0.26, true}}));
  EXPECT_THAT(text,
              HasSubstr("rail0, TCP: 4 nodes, 3 rounds, all pairs of a round at once: median 40.0 Gb/s\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  SLOW  gpu03 sends at 26 % of what the others reach, alone too\n        do: look at"));
}

TEST(PairsText, ALinkIsToldFromANode) {
  const std::string text = pairs_text(sample({{SlowKind::kLink, 0, 3, 0.25, true}}));
  EXPECT_THAT(text, HasSubstr("gpu01 and gpu04 reach each other at 25 %"));
}

TEST(PairsText, CongestionIsNotHardware) {
  const std::string text = pairs_text(sample({{SlowKind::kNode, 1, -1, 0.5, false}}));
  EXPECT_THAT(text, HasSubstr("congestion, not hardware"));
  EXPECT_THAT(text, Not(HasSubstr("SLOW")));
}

TEST(PairsText, NobodySlowIsSaid) { EXPECT_THAT(pairs_text(sample({})), HasSubstr("no node is slower")); }

TEST(PairsText, TwoNodesCannotBeRanked) {
  RailReport rail = sample({});
  rail.nodes.resize(2);
  rail.report.nodes = 2;
  EXPECT_THAT(pairs_text(rail), HasSubstr("two nodes cannot be ranked"));
  EXPECT_THAT(pairs_text(rail), Not(HasSubstr("slower")));
}

TEST(PairsText, ManyFailuresAreCutShort) {
  RailReport rail = sample({});
  rail.failures.assign(20, "gpu01 → gpu02: no answer");
  EXPECT_THAT(pairs_text(rail), HasSubstr("… and 12 more"));
}

}  // namespace
}  // namespace railbed

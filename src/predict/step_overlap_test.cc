#include "predict/step_overlap.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(ExposedBehind, IsWhatOutlastsTheComputation) {
  EXPECT_DOUBLE_EQ(exposed_behind({{1, 1}, {4, 1}}, 5), 0);
  EXPECT_DOUBLE_EQ(exposed_behind({{1, 1}, {5, 1}}, 5), 1);
  EXPECT_DOUBLE_EQ(exposed_behind({{1, 6}, {5, 1}}, 5), 3);
  EXPECT_DOUBLE_EQ(exposed_behind({}, 5), 0);
}

// Forward: the first gathering shows, the others hide. Backward: the last scattering shows.
TEST(ExposedByGathering, TheFirstAndTheLastShow) {
  EXPECT_DOUBLE_EQ(exposed_by_gathering({4, 1, 1, 2, 0.5, 0.75}), 0.5 + 0.75);
}

// A gathering takes 3, a block 1 forward and 2 backward: the network never rests, but while the first
// backward block computes nothing of it can be scattered.
TEST(ExposedByGathering, ASlowNetworkSetsThePace) {
  const double step = exposed_by_gathering({4, 1, 1, 2, 3, 0}) + 4 * 3;
  EXPECT_DOUBLE_EQ(step, 8 * 3 + 2);
}

TEST(ExposedByGathering, MicroBatchesGatherAgain) {
  const double one = exposed_by_gathering({4, 1, 1, 2, 3, 0});
  const double two = exposed_by_gathering({4, 2, 1, 2, 3, 0});
  EXPECT_GT(two, 1.5 * one);
  // Beyond those that are simulated, each takes as long as the one before.
  const double five = exposed_by_gathering({4, 5, 1, 2, 3, 0});
  const double six = exposed_by_gathering({4, 6, 1, 2, 3, 0});
  EXPECT_NEAR(six - five, exposed_by_gathering({4, 4, 1, 2, 3, 0}) - exposed_by_gathering({4, 3, 1, 2, 3, 0}),
              1e-9);
}

}  // namespace
}  // namespace railbed

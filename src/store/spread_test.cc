#include "store/spread.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/median.h"
#include "base/student.h"

namespace railbed {
namespace {

TEST(Robust, AnOutlierMovesTheMeanLittle) {
  EXPECT_DOUBLE_EQ(robust_mean({1}), 1);
  EXPECT_DOUBLE_EQ(robust_mean({1, 3}), 2);
  EXPECT_NEAR(robust_mean({1, 1.1, 0.9, 1, -50}), 1, 0.11);
  EXPECT_DOUBLE_EQ(robust_mean(std::vector<double>(2000, 7)), 7);
  EXPECT_DOUBLE_EQ(median_of<double>({4, 1, 3, 2}), 2.5);
}

TEST(Robust, NoSquareCountsForMoreThanTheCap) {
  EXPECT_EQ(capped_mean({}, 16), 0);
  EXPECT_EQ(capped_mean({0, 0}, 16), 0);
  EXPECT_NEAR(capped_mean({1, 1, 1, 1}, 16), 1, 1e-6);
  std::vector<double> squares(39, 1);
  squares.push_back(1e6);
  EXPECT_LT(capped_mean(squares, 16), 2);
}

TEST(SittingSpread, LearnsASmallAndALargeSpread) {
  const SittingSpread prior;
  SittingSpread quiet;
  quiet.learn({0.002 * 0.002, 30, 0});
  EXPECT_NEAR(quiet.median(), 0.002, 0.0004);
  SittingSpread loud;
  loud.learn({0.08 * 0.08, 30, 0});
  EXPECT_NEAR(loud.median(), 0.08, 0.012);
  const DifferenceError error{2, 0, 0};
  EXPECT_LT(quiet.tail(0.05, error), 1e-4);
  EXPECT_GT(loud.tail(0.05, error), 0.25);
  EXPECT_GT(prior.tail(0.05, error), 0.03);
  EXPECT_LT(prior.tail(0.5, error), 0.005);
}

TEST(SittingSpread, NoiseOfTheRepeatsIsNotASpreadBetweenSittings) {
  SittingSpread noisy;
  noisy.learn({0.02 * 0.02, 30, 0.02 * 0.02});
  SittingSpread plain;
  plain.learn({0.02 * 0.02, 30, 0});
  EXPECT_LT(noisy.median(), plain.median() / 2);
}

TEST(SittingSpread, TheTailIsStudentsWhereTheRepeatsAloneSpread) {
  SittingSpread still;
  still.learn({1e-12, 1000, 0});
  const DifferenceError error{2, 1e-2, 4};
  EXPECT_NEAR(still.tail(0.2, error), student_tail(2, 4), 1e-3);
  EXPECT_NEAR(still.tail(still.quantile(0.01, error), error), 0.01, 1e-6);
}

}  // namespace
}  // namespace railbed

#include "base/median.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Median, IsBetweenTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median_of<double>({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median_of<double>({10, 20}), 15);
  EXPECT_DOUBLE_EQ(median_of<double>({3, 1, 2}), 2);
  EXPECT_EQ(median_of<int>({7}), 7);
}

}  // namespace
}  // namespace railbed

#include "bench/core/other_work.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(OtherWork, CountsWhatOthersTookBetweenTwoLooks) {
  const Programs before{4, "railbed", {{7, "railbed", 1, 100}, {8, "python3", 2, 1000}, {9, "gone", 3, 5}}};
  const Programs after{
      4,
      "railbed",
      {{7, "railbed", 1, 500}, {8, "python3", 2, 1150}, {9, "new", 77, 30}, {10, "sh", 80, 20}}};
  const OtherWork work = other_work(before, after, 2, 100);
  EXPECT_EQ(work.processors, 4);
  EXPECT_DOUBLE_EQ(work.busy, 1.0);  // (150 + 30 + 20) ticks of 10 ms in 2 s
  EXPECT_EQ(work.busiest, "python3 (pid 8)");
}

TEST(OtherWork, OfAnIdleMachineIsNone) {
  const Programs idle{2, "railbed", {{1, "init", 1, 10}}};
  EXPECT_EQ(other_work(idle, idle, 1, 100).busy, 0);
}

}  // namespace
}  // namespace railbed

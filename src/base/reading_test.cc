#include "base/reading.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

using Number = Reading<int>;

TEST(Reading, NobodyHasLookedYet) {
  const Number none;
  EXPECT_FALSE(none.ok());
  EXPECT_TRUE(none.absent());
  EXPECT_EQ(none.miss(), not_collected());
  EXPECT_EQ(none, Number(not_collected(), ""));
  EXPECT_EQ(none.value_or(3), 3);
}

TEST(Reading, EqualsByValueOrMissAndPlace) {
  const Number four(4, "/sys/x");
  EXPECT_EQ(four, Number(4, "/sys/x"));
  EXPECT_NE(four, Number(5, "/sys/x"));
  EXPECT_NE(four, Number(4, "/sys/y"));
  const Number denied(Miss{Missing::kDenied, "Permission denied"}, "/sys/x");
  EXPECT_EQ(denied, Number(Miss{Missing::kDenied, "Permission denied"}, "/sys/x"));
  EXPECT_NE(denied, Number(Miss{Missing::kAbsent, "Permission denied"}, "/sys/x"));
  EXPECT_NE(denied, Number(Miss{Missing::kDenied, "no"}, "/sys/x"));
  // A miss holds a value that means nothing.
  EXPECT_NE(Number(0, "/sys/x"), denied);
}

TEST(Reading, CopiesOfAMissStayWhatTheyWere) {
  Number denied(Miss{Missing::kDenied, "Permission denied"}, "/sys/x");
  const Number copy = denied;
  denied = Number(4, "/sys/x");
  EXPECT_TRUE(denied.ok());
  EXPECT_EQ(copy.miss().why, "Permission denied");
  denied = copy;
  EXPECT_EQ(denied, copy);
  EXPECT_FALSE(denied.ok());
}

TEST(Reading, ParsingKeepsWhereAndWhy) {
  const auto half = [](int number) { return number % 2 == 0 ? std::optional(number / 2.0) : std::nullopt; };
  EXPECT_EQ(Number(4, "/sys/x").parsed(half), Reading<double>(2.0, "/sys/x"));
  const auto garbled = Number(5, "/sys/x").parsed(half);
  EXPECT_EQ(garbled.miss().missing, Missing::kGarbled);
  EXPECT_EQ(garbled.from(), "/sys/x");
  const Number denied(Miss{Missing::kDenied, "no"}, "/sys/x");
  EXPECT_EQ(denied.parsed(half).miss(), denied.miss());
}

TEST(OriginPool, KeepsEqualPlacesAndMissesOnce) {
  const OriginPool pool;
  const Number number(1, "/sys/x");
  const Number two(2, "/sys/x");
  EXPECT_EQ(&number.from(), &two.from());
  const Number denied(Miss{Missing::kDenied, "no"}, "/sys/x");
  const Number absent(Miss{Missing::kAbsent, "no"}, "/sys/x");
  EXPECT_EQ(&denied.miss(), &Number(Miss{Missing::kDenied, "no"}, "/sys/x").miss());
  EXPECT_NE(denied, absent);
  EXPECT_EQ(denied.miss().missing, Missing::kDenied);
  EXPECT_EQ(absent.miss().missing, Missing::kAbsent);
}

TEST(OriginPool, WhatItMadeOutlivesIt) {
  Number kept;
  {
    const OriginPool pool;
    kept = Number(1, "/sys/x");
    const OriginPool inner;
    EXPECT_NE(&kept.from(), &Number(2, "/sys/x").from());
  }
  EXPECT_EQ(kept.from(), "/sys/x");
  EXPECT_NE(&kept.from(), &Number(1, "/sys/x").from());
}

TEST(Reading, DescribesAMiss) {
  EXPECT_EQ(describe({Missing::kAbsent, "No such file or directory"}, "/sys/x"),
            "absent: No such file or directory (/sys/x)");
  EXPECT_EQ(describe({Missing::kTimeout, ""}, ""), "timeout");
}

}  // namespace
}  // namespace railbed

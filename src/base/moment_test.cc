#include "base/moment.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

constexpr double kNow = 1795252201;  // 2026-11-21T09:10:01Z

TEST(Moment, IsWrittenAsRfc3339) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(kNow + 0.9), "2026-11-21T09:10:01Z");
  EXPECT_EQ(utc_text(-1), "an unknown time");
  EXPECT_EQ(utc_text(1e300), "an unknown time");
}

TEST(Moment, SinceIsATimeOrAnAge) {
  EXPECT_EQ(parse_since("2026-11-21T09:10:01Z", 0), kNow);
  EXPECT_EQ(parse_since("2026-11-21T10:10:01.5+01:00", 0), kNow);
  EXPECT_EQ(parse_since("2024-02-29T00:00:00Z", 0), 1709164800);
  EXPECT_EQ(parse_since("90s", kNow), kNow - 90);
  EXPECT_EQ(parse_since("30m", kNow), kNow - 1800);
  EXPECT_EQ(parse_since(" 1h ", kNow), kNow - 3600);
  EXPECT_EQ(parse_since("7d", kNow), kNow - 604800);
}

TEST(Moment, OtherTextIsNoTime) {
  for (const char* text :
       {"", "h", "-1h", "yesterday", "2026-11-21", "2026-13-21T09:10:01Z", "2026-02-29T00:00:00Z",
        "2026-11-21T24:10:01Z", "2026-11-21T09:10:01", "2026-11-21T09:10:01.", "1w", "99999999999h"})
    EXPECT_FALSE(parse_since(text, kNow)) << text;
}

}  // namespace
}  // namespace railbed

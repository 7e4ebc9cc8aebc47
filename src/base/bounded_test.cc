#include "base/bounded.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(Bounded, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to("gpu01", 5), "gpu01");
  EXPECT_EQ(cut_to("gpu01", 4), "gpu0…");
  EXPECT_EQ(cut_to("µµµ", 3), "µ…");
  EXPECT_EQ(cut_to("µµµ", 4), "µµ…");
  EXPECT_EQ(cut_to("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80…");
  EXPECT_EQ(cut_to("µ", 0), "…");
}

TEST(Bounded, FindsTheLongestString) {
  EXPECT_EQ(longest_string("[1, 2]"), 0u);
  EXPECT_EQ(longest_string(R"({"a": "bcd", "e": ["fg"]})"), 3u);
  EXPECT_EQ(longest_string(R"(["a\"b\\", ""])"), 6u);
  EXPECT_EQ(longest_string(R"(["cut off)"), 7u);
  EXPECT_EQ(longest_string("\"\\"), 1u);
  EXPECT_EQ(longest_string("\""), 0u);
}

}  // namespace
}  // namespace railbed

#include "report/text/diff.h"

#include <gtest/gtest.h>

namespace railbed {
namespace {

TEST(UnifiedDiff, ShowsWhatChangedWithThreeLinesAround) {
  EXPECT_EQ(unified_diff("/etc/x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- /etc/x\n+++ /etc/x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, HasAHunkForEachPlace) {
  std::string before;
  std::string after;
  for (int i = 1; i <= 30; ++i) {
    before += std::to_string(i) + "\n";
    if (i != 2) after += (i == 25 ? "x" : std::to_string(i)) + "\n";
  }
  EXPECT_EQ(unified_diff("f", before, after),
            "--- f\n+++ f\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n"
            "@@ -22,7 +21,7 @@\n 22\n 23\n 24\n-25\n+x\n 26\n 27\n 28\n");
}

TEST(UnifiedDiff, KnowsNewAndRemovedFiles) {
  EXPECT_EQ(unified_diff("f", std::nullopt, "a\n"), "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(unified_diff("f", "a\nb\n", std::nullopt), "--- f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
}

TEST(UnifiedDiff, ShowsNoControlCharacters) {
  EXPECT_EQ(unified_diff("f", "\033[2J\n", "a\n").find('\033'), std::string::npos);
}

}  // namespace
}  // namespace railbed

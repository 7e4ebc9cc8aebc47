#include "results/foreign/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "results/foreign/testing/fixture.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

// Every prefix of every fixture is read or refused: nothing ends the program, and no text is unsafe to show.
TEST(Foreign, OutputsThatAreCutAnywhereAreReadOrRefused) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(RAILBED_SOURCE_DIR "/tests/foreign")) {
    const std::string text = foreign_text(entry.path().filename());
    for (std::size_t size = 0; size <= text.size(); size += 1 + size / 64) {
      const auto read = parse_foreign(std::string_view(text).substr(0, size));
      if (!read) {
        EXPECT_EQ(printable_lines(read.error().text), read.error().text);
        continue;
      }
      for (const Measurement& measurement : read->run.measurements) {
        EXPECT_TRUE(measurement.failure || measurement.summary.median > 0) << entry.path();
        EXPECT_EQ(printable(measurement.operation), measurement.operation);
      }
    }
    ++files;
  }
  EXPECT_GT(files, 20);
}

TEST(Foreign, AnUnknownKindIsRefusedWithTheKnownOnes) {
  EXPECT_FALSE(find_foreign_tool(foreign_text("unknown-netperf.txt")));
  const auto read = parse_foreign(foreign_text("unknown-netperf.txt"));
  ASSERT_FALSE(read);
  for (const std::string_view tool : enum_names(ForeignTool{}))
    EXPECT_THAT(read.error().text, HasSubstr(std::string(tool)));
}

TEST(Foreign, OutputsOfTwoToolsInOneFileAreNotMixed) {
  const auto read =
      parse_foreign(foreign_text("iperf3-3.12-text.txt") + foreign_text("sockperf-3.8-ping-pong.txt"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->run.measurements.size(), 1u);
  EXPECT_THAT(read->left_out, Contains(HasSubstr("sockperf")));
}

TEST(Foreign, WhatIsTooLargeOrTooDeepIsRefused) {
  EXPECT_FALSE(parse_foreign("\"fio version\"" + std::string(17 << 20, ' ')));
  const auto deep = parse_foreign("{\"fio version\":" + std::string(100'000, '[') + "}");
  ASSERT_FALSE(deep);
  EXPECT_LT(deep.error().text.size(), 1000u);
}

TEST(Foreign, NamesCannotControlATerminal) {
  std::string text = foreign_text("perftest-4.4-write-all.txt");
  text.replace(text.find("mlx5_0\n"), 6, "\x1b[2Jxx");
  const auto read = parse_foreign(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->run.measurements[0].from.device.find('\x1b'), std::string::npos);
}

TEST(Foreign, RowsWithoutEndAreLimited) {
  std::string text = foreign_text("perftest-4.4-write-all.txt");
  const std::string row = " 65536      5000             11740.21            11728.47\t\t     0.187656\n";
  text.resize(text.rfind("---\n") - 84);
  for (int i = 0; i < 20'000; ++i) text += row;
  const auto read = parse_foreign(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->run.measurements.size(), 10'000u);
  EXPECT_THAT(read->left_out, Contains(HasSubstr("after the first")));
}

}  // namespace
}  // namespace railbed

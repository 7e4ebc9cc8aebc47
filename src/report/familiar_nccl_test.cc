#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "report/familiar.h"

namespace railbed {
namespace {

std::string captured(const char* name) {
  std::ifstream file(std::string(RAILBED_SOURCE_DIR) + "/tests/captures/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Rates of rounded times differ from the tool's in the last digit: scripts rely on columns and widths.
std::string shape_of(std::string text) {
  for (char& c : text)
    if (c >= '0' && c <= '9') c = '0';
  return text;
}

CollectiveRow row(std::uint64_t bytes, double out_us, double in_us, int ranks) {
  CollectiveRow row;
  row.bytes = bytes;
  row.elements = bytes / 4;
  row.launched.median = out_us * 1e3;
  row.in_place.emplace();
  row.in_place->median = in_us * 1e3;
  row.algbw = static_cast<double>(bytes) * 8e9 / row.launched.median;
  row.busbw = row.algbw * 2 * (ranks - 1) / ranks;
  row.checked = true;
  return row;
}

// The tool's own run on two H200s: its times, rendered by us, give its lines.
TEST(NcclTestsTable, IsTheToolsOwn) {
  const std::string theirs = captured("nccl-tests-all_reduce-2xH200.txt");
  ASSERT_FALSE(theirs.empty());
  CollectiveReport report;
  report.iterations = 20;
  for (int i = 0; i < 2; ++i) {
    CollectiveRank rank{i, "vm", 1457, {i, i == 0 ? "0000:00:06.0" : "0000:00:07.0", "NVIDIA H200", 0, 0}};
    report.ranks.push_back(rank);
  }
  std::vector<std::string> expected;
  for (const auto line : lines(theirs)) {
    const auto columns = words(line);
    if (columns.size() == 13 && columns[2] == "float") {
      report.rows.push_back(
          row(*parse_number<std::uint64_t>(columns[0]), *parse_real(columns[5]), *parse_real(columns[9]), 2));
      expected.emplace_back(line);
    } else if (line.starts_with("#  Rank") || line.starts_with("#       size") ||
               line.starts_with("#        (B)") || line.starts_with("# Out of bounds")) {
      expected.emplace_back(line);
    }
  }
  ASSERT_EQ(report.rows.size(), 16U);
  const std::string ours = nccl_tests_text(report);
  for (const std::string& line : expected)
    EXPECT_NE(shape_of(ours).find(shape_of(line) + '\n'), std::string::npos) << line << '\n' << ours;
  for (const char* exact : {"     float     sum      -1    11.08    0.00    0.00       0    11.21    0.00",
                            " 24660.7  348.32  348.32       0  24898.5  345.00  345.00       0\n"})
    EXPECT_NE(ours.find(exact), std::string::npos) << exact;
}

TEST(NcclTestsTable, ARunThatFailedIsNotCalledConcluded) {
  CollectiveReport report;
  report.failure = Failure{};
  EXPECT_EQ(nccl_tests_text(report), "");
  report.rows.push_back(row(64, 10, 0, 2));
  const std::string text = nccl_tests_text(report);
  EXPECT_NE(text.find("10.00"), std::string::npos);
  EXPECT_EQ(text.find("OK"), std::string::npos);
  EXPECT_EQ(text.find("concluded"), std::string::npos);
}

TEST(NcclTestsTable, WhatWasNotMeasuredIsNotMadeUp) {
  CollectiveReport report;
  report.operation = Collective::kAllToAll;
  report.ranks.resize(2);
  report.rows.push_back(row(64, 10, 0, 2));
  report.rows.back().in_place.reset();
  report.rows.back().wrong = 3;
  const std::string text = nccl_tests_text(report);
  EXPECT_NE(text.find("none      -1    10.00    0.01    0.01       3      N/A     N/A     N/A     N/A\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# Out of bounds values : 3 FAILED"), std::string::npos);
}

}  // namespace
}  // namespace railbed

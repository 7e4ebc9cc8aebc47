#include "report/text/familiar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

Measurement perftest_bandwidth() {
  Measurement one;
  one.from.address = "10.0.0.1";
  one.to.address = "10.0.0.2";
  one.message_bytes = 65536;
  one.streams = 4;
  one.seconds = 2;
  one.lost = 7;
  one.summary.samples = 20;
  one.summary.mean = 38e9;
  one.summary.maximum = 38.5e9;
  one.intervals.assign(20, 38e9);
  return one;
}

Measurement latency() {
  Measurement one;
  one.metric = Metric::kLatency;
  one.message_bytes = 8;
  one.summary.samples = 1000;
  one.summary.minimum = 850;
  one.summary.median = 900;
  one.summary.mean = 910;
  one.summary.maximum = 5000;
  one.summary.deviation = 20;
  one.summary.p99 = 1200;
  one.summary.p999 = 2100;
  return one;
}

// Returns the columns of the line below the header that holds `column`, as a script would split them.
std::vector<std::string> columns_below(const std::string& text, const std::string& column) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line))
    if (line.find(column) != std::string::npos) break;
  std::getline(lines, line);
  std::istringstream row(line);
  return {std::istream_iterator<std::string>(row), {}};
}

// An engine may have counted for a while before it failed.
TEST(Familiar, WhatFailedHasNoRow) {
  Measurement one = perftest_bandwidth();
  one.failure = Failure{};
  one.failure->cause = "the path is dead";
  EXPECT_EQ(perftest_text({one}), "");
  EXPECT_EQ(iperf3_text({one}), "");
  EXPECT_THAT(iperf3_json({one}), HasSubstr("\"error\": \"the path is dead\""));
}

TEST(Perftest, BandwidthColumnsStandWhereScriptsLookForThem) {
  EXPECT_EQ(columns_below(perftest_text({perftest_bandwidth()}), "BW average"),
            (std::vector<std::string>{"65536", "144958", "38.50", "38.00", "0.072479"}));
}

TEST(Perftest, LatencyColumnsAreMicroseconds) {
  EXPECT_EQ(columns_below(perftest_text({latency()}), "t_typical"),
            (std::vector<std::string>{"8", "1000", "0.85", "5.00", "0.90", "0.91", "0.02", "1.20", "2.10"}));
}

TEST(Perftest, WhatFailedHasNoRow) {
  Measurement broken = perftest_bandwidth();
  broken.summary = {};
  EXPECT_EQ(perftest_text({broken}), "");
}

TEST(Iperf3, TextHasSecondsAndASummaryWithRetransmissions) {
  const std::string text = iperf3_text({perftest_bandwidth()});
  EXPECT_THAT(text, HasSubstr("[SUM]   0.00-1.00   sec  4.42 GBytes  38.0 Gbits/sec\n"));
  EXPECT_THAT(text,
              HasSubstr("[SUM]   0.00-2.00   sec  8.85 GBytes  38.0 Gbits/sec     7             sender\n"));
  EXPECT_THAT(text, HasSubstr("receiver\n"));
}

TEST(Iperf3, JsonHasWhatScriptsAskFor) {
  const auto document = json::parse(iperf3_json({perftest_bandwidth(), latency()}));
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["end"]["sum_received"]["bits_per_second"], 38e9);
  EXPECT_EQ((*document)["end"]["sum_sent"]["retransmits"], 7);
  EXPECT_EQ((*document)["intervals"].size(), 2u);
  EXPECT_EQ((*document)["start"]["test_start"]["num_streams"], 4);
}

}  // namespace
}  // namespace railbed

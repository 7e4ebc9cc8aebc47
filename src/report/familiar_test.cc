#include "report/familiar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;

Measurement perftest_bandwidth() {
  Measurement measurement;
  measurement.from.address = "10.0.0.1";
  measurement.to.address = "10.0.0.2";
  measurement.message_bytes = 65536;
  measurement.streams = 4;
  measurement.seconds = 2;
  measurement.lost = 7;
  measurement.summary.samples = 20;
  measurement.summary.mean = 38e9;
  measurement.summary.maximum = 38.5e9;
  measurement.intervals.assign(20, 38e9);
  return measurement;
}

Measurement latency() {
  Measurement measurement;
  measurement.metric = Metric::kLatency;
  measurement.message_bytes = 8;
  measurement.summary.samples = 1000;
  measurement.summary.minimum = 850;
  measurement.summary.median = 900;
  measurement.summary.mean = 910;
  measurement.summary.maximum = 5000;
  measurement.summary.deviation = 20;
  measurement.summary.p99 = 1200;
  measurement.summary.p999 = 2100;
  return measurement;
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
  Measurement measurement = perftest_bandwidth();
  measurement.failure = Failure{};
  measurement.failure->cause = "the path is dead";
  EXPECT_EQ(perftest_text({measurement}), "");
  EXPECT_EQ(iperf3_text({measurement}), "");
  EXPECT_THAT(iperf3_json({measurement}), HasSubstr("\"error\": \"the path is dead\""));
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

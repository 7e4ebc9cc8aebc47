#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/foreign/testing/fixture.h"

namespace railbed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Iperf, WhatArrivedIsTheRateOfAllStreams) {
  const ForeignRun read = foreign_run("iperf3-3.9-4-streams.json");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  const Measurement& only = read.run.measurements[0];
  EXPECT_EQ(only.engine, Engine::kTcp);
  EXPECT_EQ(only.operation, "");
  EXPECT_DOUBLE_EQ(only.summary.median, 94.1e9);
  EXPECT_EQ(only.streams, 4);
  EXPECT_EQ(only.message_bytes, 131072u);
  EXPECT_EQ(only.lost, 1245u);
  EXPECT_EQ(only.from.node, "client");
  EXPECT_EQ(only.from.address, "10.1.0.11");
  EXPECT_EQ(read.run.fingerprint.at("iperf3"), "iperf 3.9");
  EXPECT_EQ(read.run.asked.at("congestion control"), "cubic");
}

TEST(Iperf, InReverseTheServerSends) {
  const ForeignRun read = foreign_run("iperf3-3.16-reverse.json");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].from.node, "server");
  EXPECT_EQ(read.run.measurements[0].from.address, "10.1.0.12");
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 24.5e9);
}

TEST(Iperf, UdpBeforeTheTwoSumsHasOnlyWhatWasSent) {
  const ForeignRun old = foreign_run("iperf3-3.1-udp.json");
  ASSERT_EQ(old.run.measurements.size(), 1u);
  EXPECT_EQ(old.run.measurements[0].engine, Engine("udp"));
  EXPECT_EQ(old.run.measurements[0].operation, "sent only");
  EXPECT_EQ(old.run.measurements[0].lost, 820u);
  const ForeignRun now = foreign_run("iperf3-3.16-udp.json");
  ASSERT_EQ(now.run.measurements.size(), 1u);
  EXPECT_EQ(now.run.measurements[0].operation, "");
  EXPECT_DOUBLE_EQ(now.run.measurements[0].summary.median, 1.96e9);
  EXPECT_EQ(now.run.measurements[0].packets, 172000u);
}

TEST(Iperf, BothWaysAreTwoMeasurements) {
  const ForeignRun read = foreign_run("iperf3-3.16-bidir.json");
  ASSERT_EQ(read.run.measurements.size(), 2u);
  EXPECT_EQ(read.run.measurements[0].operation, "both ways at once");
  EXPECT_EQ(read.run.measurements[1].from.node, "server");
  EXPECT_DOUBLE_EQ(read.run.measurements[1].summary.median, 20.8e9);
}

TEST(Iperf, OfAServerTheClientIsTheOtherEnd) {
  const ForeignRun read = foreign_run("iperf3-3.12-server.json");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].from.address, "10.1.0.12");  // the fixture's remote end
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 9.41e9);
}

TEST(Iperf, TextHasTheSumOfTheStreams) {
  const ForeignRun read = foreign_run("iperf3-3.12-text.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  const Measurement& only = read.run.measurements[0];
  EXPECT_DOUBLE_EQ(only.summary.median, 9.37e9);
  EXPECT_EQ(only.streams, 2);
  EXPECT_EQ(only.message_bytes, 0u);  // not printed
  EXPECT_EQ(only.lost, 11u);
  EXPECT_EQ(only.to.address, "10.1.0.12");
}

TEST(Iperf, BytesOfTextAreBinaryAndReverseIsSeen) {
  const ForeignRun read = foreign_run("iperf3-3.7-text-reverse-mbytes.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 112.0 * 1048576 * 8);
  EXPECT_EQ(read.run.measurements[0].from.node, "server");
}

TEST(Iperf, UdpInTextIsKnownByItsDatagrams) {
  const ForeignRun read = foreign_run("iperf3-3.12-text-udp.txt");
  ASSERT_EQ(read.run.measurements.size(), 1u);
  EXPECT_EQ(read.run.measurements[0].engine, Engine("udp"));
  EXPECT_DOUBLE_EQ(read.run.measurements[0].summary.median, 985e6);
}

TEST(Iperf, AFailedTestIsNamed) {
  const auto read = parse_foreign(
      R"({"start":{"test_start":{"protocol":"TCP"}},"end":{},"error":"unable to connect to server"})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr("unable to connect to server"));
}

TEST(Iperf, TestsInOneTextAreRepeats) {
  const std::string text = foreign_text("iperf3-3.12-text.txt");
  const auto read = parse_foreign(text + text + foreign_text("iperf3-3.7-text-reverse-mbytes.txt"));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->run.measurements.size(), 3u);
  EXPECT_TRUE(same_subject(read->run.measurements[0], read->run.measurements[1]));
  EXPECT_FALSE(same_subject(read->run.measurements[0], read->run.measurements[2]));
}

}  // namespace
}  // namespace railbed

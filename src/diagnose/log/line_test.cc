#include "diagnose/log/line.h"

#include <gtest/gtest.h>

#include "nccl/version.h"

namespace railbed::diagnose {
namespace {

LogLine only(std::string_view line) {
  const auto records = parse_log_line(line);
  EXPECT_EQ(records.size(), 1u) << line;
  return records.empty() ? LogLine{} : records.front();
}

TEST(LogLine, OfAnInfo) {
  const LogLine line = only("gpu-01.lab:1939:1958 [3] NCCL INFO Using network Socket");
  EXPECT_EQ(line.level, Level::kInfo);
  EXPECT_EQ(line.host, "gpu-01.lab");
  EXPECT_EQ(line.process, 1939);
  EXPECT_EQ(line.thread, 1958);
  EXPECT_EQ(line.device, 3);
  EXPECT_EQ(line.text, "Using network Socket");
}

TEST(LogLine, OfAWarning) {
  for (const std::string_view text :
       {"[2026-11-21 06:20:38] node0:557:558 [0] bootstrap.cc:114 NCCL WARN Bootstrap : no socket interface "
        "found",
        "node0:557:558 [0] bootstrap.cc:114 NCCL WARN Bootstrap : no socket interface found",
        "12: node0:557:558 [0] bootstrap.cc:114 NCCL WARN Bootstrap : no socket interface found"}) {
    const LogLine line = only(text);
    EXPECT_EQ(line.level, Level::kWarn);
    EXPECT_EQ(line.host, "node0");
    EXPECT_EQ(line.process, 557);
    EXPECT_EQ(line.place, "bootstrap.cc:114");
    EXPECT_EQ(line.text, "Bootstrap : no socket interface found");
  }
}

TEST(LogLine, BehindWhatLaunchersPutInFront) {
  for (const std::string_view text :
       {"[1,0]<stdout>:node0:5:6 [0] NCCL INFO x", "node01: node0:5:6 [0] NCCL INFO x",
        "[1,0]<stderr>: node0:5:6 [0] NCCL INFO x", "(worker pid=77) node0:5:6 [0] NCCL INFO x",
        "2026-11-21T06:20:38Z stdout F node0:5:6 [0] NCCL INFO x"})
    EXPECT_EQ(only(text).host, "node0") << text;
}

TEST(LogLine, TwoOnOneLine) {
  const auto records =
      parse_log_line("a:1:2 [0] NCCL INFO Connected all b:3:4 [1] NCCL INFO Using network IB");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].text, "Connected all");
  EXPECT_EQ(records[1].host, "b");
  EXPECT_EQ(records[1].text, "Using network IB");
}

TEST(LogLine, VersionWithoutOrigin) {
  EXPECT_EQ(only("NCCL version 2.20.5+cuda12.4").level, Level::kVersion);
  EXPECT_TRUE(parse_log_line("unhandled cuda error, NCCL version 2.28.9").empty());
}

TEST(LogLine, WithOneNumberRemoved) {
  const LogLine line = only("[2026-03-13 22:26:02] gpu01.site:41822 [5] ibvwrap.c:262 NCCL WARN Call failed");
  EXPECT_EQ(line.host, "gpu01.site");
  EXPECT_EQ(line.process, 41822);
  EXPECT_EQ(line.device, 5);
  EXPECT_EQ(line.place, "ibvwrap.c:262");
}

TEST(LogLine, NotNccl) {
  for (const std::string_view text : {"", " NCCL INFO ", "x NCCL INFO y", "a:1:2 [] NCCL INFO y",
                                      "[0] NCCL WARN y", "a:99999999999:2 [0] NCCL INFO y"})
    EXPECT_TRUE(parse_log_line(text).empty()) << text;
}

TEST(LogLine, WithoutColours) {
  std::string buffer;
  EXPECT_EQ(plain("\033[36m(pid=1)\033[0m a:1:2 [0] NCCL INFO x\r", buffer), "(pid=1) a:1:2 [0] NCCL INFO x");
  EXPECT_EQ(plain("cut \033[3", buffer), "cut ");
  EXPECT_EQ(plain("as it is", buffer), "as it is");
}

TEST(Version, Parse) {
  EXPECT_EQ(nccl::Version::parse("2.28.9+cuda13.0"), (nccl::Version{2, 28, 9}));
  EXPECT_EQ(nccl::Version::parse("2.30"), (nccl::Version{2, 30, 0}));
  EXPECT_EQ(nccl::Version::parse("2.30")->to_text(), "2.30");
  EXPECT_EQ(nccl::Version::parse("2"), std::nullopt);
  EXPECT_EQ(nccl::Version::parse("two"), std::nullopt);
  EXPECT_LT((nccl::Version{2, 9, 8}), (nccl::Version{2, 28, 0}));
}

}  // namespace
}  // namespace railbed::diagnose

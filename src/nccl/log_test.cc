// Logs with what the reader makes of them: tests/nccl/NAME.log → NAME.txt. UPDATE_GOLDEN=1 writes the latter.
#include "nccl/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "nccl/log_symptoms.h"

namespace railbed::nccl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> logs() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(RAILBED_SOURCE_DIR "/tests/nccl"))
    if (entry.path().extension() == ".log") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, Text) {
  fs::path golden = GetParam();
  golden.replace_extension(".txt");
  const std::string text = to_text(read_log(slurp(GetParam())));
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << text;
  EXPECT_EQ(text, slurp(golden));
}

// However the input arrives, the answer is the same.
TEST_P(Golden, InPieces) {
  const std::string text = slurp(GetParam());
  LogReader reader;
  for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = size % 977 + 13)
    reader.feed(std::string_view(text).substr(at, size));
  EXPECT_EQ(to_json(reader.finish()), to_json(read_log(text)));
}

TEST_P(Golden, JsonBothWays) {
  const Log log = read_log(slurp(GetParam()));
  const auto value = json::parse(to_json(log));
  ASSERT_TRUE(value);
  const auto back = json::decode<Log>(*value);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(to_text(*back), to_text(log));
}

INSTANTIATE_TEST_SUITE_P(Logs, Golden, testing::ValuesIn(logs()), [](const auto& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(Log, OfNothing) {
  EXPECT_THAT(to_text(read_log("")), StartsWith("There is no line of NCCL in this log"));
  EXPECT_EQ(read_log("hello\nworld\n").nccl_lines, 0u);
}

TEST(Log, AnyPrefixOfALogIsRead) {
  const std::string text = slurp(RAILBED_SOURCE_DIR "/tests/nccl/hang-operations.log");
  for (std::size_t size = 0; size < text.size(); size += 61)
    EXPECT_FALSE(read_log(std::string_view(text).substr(0, size)).verdict.text.empty());
}

TEST(Log, KeepsTheFirstMessageAndCountsTheRest) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += "a:1:2 [0] misc/socket.cc:72 NCCL WARN Something nobody knows " + std::to_string(i % 1) + "\n";
  const Log log = read_log(text);
  ASSERT_EQ(log.problems.size(), 1u);
  EXPECT_EQ(log.problems[0].count, 5u);
  EXPECT_EQ(log.problems[0].line, 1u);
  EXPECT_EQ(log.problems[0].title, "Something nobody knows 0");
}

// As 2.8 to 2.18 print it (github.com/NVIDIA/nccl/issues/754), and in blocks since (…/issues/1154).
TEST(Log, TuningTableOfBothForms) {
  const std::string in = "node0:1214:1263 [0] NCCL INFO ";
  const Log old = read_log(in + "Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Ring/Simple |\n" + in +
                           " Max NThreads |            512 |            640 |            256 |\n" + in +
                           "    AllReduce |     6.3/   0.8 |    14.0/   0.0 |    18.0/   3.0 |\n");
  ASSERT_EQ(old.tuning.size(), 2u);
  EXPECT_EQ(old.tuning[1].algorithm, "Ring");
  EXPECT_EQ(old.tuning[1].protocol, "Simple");
  EXPECT_DOUBLE_EQ(old.tuning[1].latency, 18.0);
  EXPECT_DOUBLE_EQ(old.tuning[1].bandwidth, 3.0);
  const Log now = read_log(
      in + "  Algorithm   |                  Tree              |                Ring                |\n" +
      in + "  Protocol    |             LL |  LL128 |   Simple |             LL |  LL128 |   Simple |\n" +
      in +
      "    AllReduce |  10.4/  43.6 |  0.0/ 0.0 | 32.4/ 165.6 |  10.2/  94.0 |  25.4/ 220.8 |  28.8/ 240.0 "
      "|\n");
  ASSERT_EQ(now.tuning.size(), 5u);
  EXPECT_EQ(now.tuning[0].algorithm + now.tuning[0].protocol, "TreeLL");
  EXPECT_EQ(now.tuning[4].algorithm + now.tuning[4].protocol, "RingSimple");
  EXPECT_THAT(to_text(now), HasSubstr("Ring LL128 25.4 µs 220.8 GB/s"));
}

// Formats that no machine here prints, by the words of public reports: SHARP behind the link
// (nccl/issues/1737), PXN's rank behind the NIC's number, 2.30's "set to" (nccl/issues/2397).
TEST(Log, FormatsOfOtherMachines) {
  const std::string in = "node0:4052:4122 [0] NCCL INFO ";
  const Log log = read_log(
      in + "NCCL_IB_HCA set to mlx5_0,mlx5_1\n" + in +
      "NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB ib0.0065:10.1.32.3<0>\n" + in +
      "Using network IBext_v8\n" + in +
      "ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init START\n" +
      in + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IBext_v8/1(3)/GDRDMA\n" + in +
      "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v8/1\n");
  ASSERT_EQ(log.nics.size(), 2u);
  EXPECT_EQ(log.nics[0].link, "IB");
  EXPECT_EQ(log.nics[1].link, "RoCE");
  ASSERT_EQ(log.networks.size(), 1u);
  EXPECT_EQ(log.networks[0].why, "a plugin brings it");
  const LogRank& rank = log.communicators.at(0).ranks.at(0);
  EXPECT_EQ(rank.nics, std::vector<std::string>{"mlx5_1"});
  EXPECT_TRUE(rank.gpudirect_receive);
  EXPECT_FALSE(rank.gpudirect_send);
  EXPECT_THAT(to_text(log), HasSubstr("GPUDirect for receiving only"));
}

TEST(Log, APeerLostBeforeTheWatchdogIsNoHang) {
  const std::string start = "ncclCommInitRank comm 0x5 rank ";
  std::string text;
  for (int rank = 0; rank < 3; ++rank)
    text += "n" + std::to_string(rank) + ":1" + std::to_string(rank) + ":2 [0] NCCL INFO " + start +
            std::to_string(rank) + " nranks 3 cudaDev 0 nvmlDev 0 busId 60 commId 0x7 - Init COMPLETE\n";
  const std::string closed =
      "n0:10:2 [0] misc/socket.cc:72 NCCL WARN socketProgress: Connection closed by remote peer n2\n";
  const std::string gave_up =
      "[rank1]: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, "
      "x\n";
  const Log lost = read_log(text + closed + gave_up);
  EXPECT_FALSE(lost.hang);
  EXPECT_THAT(lost.verdict.text, StartsWith("Rank 2 on n2 went away"));
  EXPECT_TRUE(read_log(text + gave_up + closed).hang);
}

TEST(Log, RankList) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({3, 1, 0, 2, 7, 9, 10}), "0-3, 7, 9, 10");
}

// Every symptom is complete, and is the one that its own words lead to.
TEST(Symptoms, EachCanBeSaid) {
  for (const Symptom& symptom : all_symptoms()) {
    EXPECT_FALSE(symptom.title.empty() || symptom.cause.empty() || symptom.remedy.empty() ||
                 symptom.source.empty())
        << symptom.id;
    std::string text = symptom.said == Said::kAnyone ? "" : "a:1:2 [0] x.cc:1 NCCL WARN ";
    for (const std::string_view word : symptom.words) {
      if (word.starts_with("<status "))
        text += " with status=" + std::string(word.substr(8, word.size() - 9)) + " opcode=0";
      else
        text += std::string(word) + " ";
    }
    const Log log = read_log(text + "\n");
    ASSERT_EQ(log.problems.size(), 1u) << text;
    EXPECT_EQ(log.problems[0].id, symptom.id) << text;
    EXPECT_EQ(log.problems[0].severity, symptom.severity) << text;
  }
}

}  // namespace
}  // namespace railbed::nccl

// Logs with what the reader makes of them: tests/nccl/NAME.log → NAME.txt. UPDATE_GOLDEN=1 writes the latter.
#include "nccl/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

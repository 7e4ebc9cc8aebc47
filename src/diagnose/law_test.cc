// The law of the counter-case: no hypothesis without an input in which it is withdrawn.
//
// tests/diagnosed/ID.cause.log has the hypothesis ID as its verdict. ID.counter.log has the same symptom, and
// something that withdraws ID. A line "@seen OBSERVATION EVIDENCE" stands for what was seen outside the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/text.h"
#include "diagnose/hypothesis.h"
#include "diagnose/log/job_log.h"
#include "diagnose/symptom.h"

namespace railbed::diagnose {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = RAILBED_SOURCE_DIR "/tests/diagnosed";

Log read_case(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  LogReader reader;
  std::vector<Observation> seen;
  constexpr std::string_view kSeen = "@seen ";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kSeen)) {
      reader.feed(line + "\n");
      continue;
    }
    const std::string rest = line.substr(kSeen.size());
    const auto space = std::min(rest.find(' '), rest.size());
    seen.push_back(
        {.id = rest.substr(0, space), .node = "", .evidence = std::string(trim(rest.substr(space)))});
  }
  return reader.finish(std::move(seen));
}

// Returns the problem with a symptom that the hypothesis explains; null if the log has none.
const LogProblem* find_problem(const Log& log, const Hypothesis& hypothesis) {
  const auto explained = [&](const LogProblem& problem) {
    return !problem.symptom.empty() &&
           std::ranges::find(hypothesis.explains, problem.symptom) != hypothesis.explains.end();
  };
  const auto found = std::ranges::find_if(log.problems, explained);
  return found == log.problems.end() ? nullptr : &*found;
}

bool is_symptom(std::string_view id) {
  return std::ranges::find(all_symptoms(), id, &Symptom::id) != all_symptoms().end();
}

class Law : public testing::TestWithParam<const Hypothesis*> {};

TEST_P(Law, IsTheVerdict) {
  const Hypothesis& hypothesis = *GetParam();
  const fs::path path = kFolder / (std::string(hypothesis.id) + ".cause.log");
  if (hypothesis.stated && !fs::exists(path)) return;  // job_log_test.cc composes its message
  ASSERT_TRUE(fs::exists(path)) << path;
  const Log log = read_case(path);
  const LogProblem* const problem = find_problem(log, hypothesis);
  ASSERT_NE(problem, nullptr) << to_text(log);
  EXPECT_EQ(problem->id, hypothesis.id) << to_text(log);
  EXPECT_LE(problem->certainty, Certainty::kLikely) << to_text(log);
  if (hypothesis.echo) return;  // the log's verdict is the other problem
  EXPECT_EQ(log.verdict.cause, hypothesis.cause) << to_text(log);
}

TEST_P(Law, IsWithdrawn) {
  const Hypothesis& hypothesis = *GetParam();
  const fs::path path = kFolder / (std::string(hypothesis.id) + ".counter.log");
  if (hypothesis.stated) {
    EXPECT_FALSE(fs::exists(path)) << path << ": what its message states cannot be withdrawn";
    return;
  }
  ASSERT_TRUE(fs::exists(path)) << path;
  const Log log = read_case(path);
  const LogProblem* const problem = find_problem(log, hypothesis);
  ASSERT_NE(problem, nullptr) << to_text(log);
  const auto refuted = std::ranges::find(problem->refuted, hypothesis.id, &LogCandidate::id);
  ASSERT_NE(refuted, problem->refuted.end()) << to_text(log);
  EXPECT_FALSE(refuted->evidence.empty());
}

// A cause that its message states has no rivals.
TEST_P(Law, StatedIsAlone) {
  const Hypothesis& hypothesis = *GetParam();
  if (!hypothesis.stated) return;
  for (const Hypothesis& other : all_hypotheses())
    for (const std::string_view symptom : hypothesis.explains) {
      if (&other == &hypothesis || symptom.empty()) continue;
      EXPECT_EQ(std::ranges::find(other.explains, symptom), other.explains.end()) << other.id;
    }
}

TEST_P(Law, IsComplete) {
  const Hypothesis& hypothesis = *GetParam();
  EXPECT_FALSE(hypothesis.cause.empty() || hypothesis.remedy.empty() || hypothesis.source.empty());
  for (const std::string_view symptom : hypothesis.explains)
    EXPECT_TRUE(symptom.empty() || is_symptom(symptom)) << symptom;
}

std::vector<const Hypothesis*> hypotheses() {
  std::vector<const Hypothesis*> all;
  for (const Hypothesis& hypothesis : all_hypotheses()) all.push_back(&hypothesis);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Hypotheses, Law, testing::ValuesIn(hypotheses()), [](const auto& info) {
  std::string name(info.param->id);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Tables, EverySymptomHasACauseAndEveryIdIsUnique) {
  std::set<std::string_view> ids;
  for (const Hypothesis& hypothesis : all_hypotheses())
    EXPECT_TRUE(ids.insert(hypothesis.id).second) << hypothesis.id;
  std::set<std::string_view> symptoms;
  for (const Symptom& symptom : all_symptoms()) {
    EXPECT_TRUE(symptoms.insert(symptom.id).second) << symptom.id;
    if (symptom.role == Role::kSight) continue;
    EXPECT_TRUE(std::ranges::any_of(all_hypotheses(), [&](const Hypothesis& hypothesis) {
      return std::ranges::find(hypothesis.explains, symptom.id) != hypothesis.explains.end();
    })) << symptom.id;
  }
}

// A line that two rows know by the same words would be explained in two places.
TEST(Tables, NoTwoSymptomsHaveTheSameWords) {
  std::map<std::multiset<std::string_view>, std::string_view> known;
  for (const Symptom& symptom : all_symptoms()) {
    const auto [other, added] = known.try_emplace({symptom.words.begin(), symptom.words.end()}, symptom.id);
    EXPECT_TRUE(added) << symptom.id << " and " << other->second;
  }
}

// No file is left that no hypothesis reads.
TEST(Tables, EveryCaseHasItsHypothesis) {
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".log")) continue;
    EXPECT_NE(std::ranges::find(all_hypotheses(), name.substr(0, name.find('.')), &Hypothesis::id),
              all_hypotheses().end())
        << name;
  }
}

}  // namespace
}  // namespace railbed::diagnose

// The answers tests/ras/h200-* are of a job on two H200 (scripts/capture-ras); the others are composed after NCCL's own
// (tests/SOURCES.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "diagnose/ras/ras_answer.h"
#include "diagnose/ras/ras_verdict.h"

namespace railbed::diagnose {
namespace {

std::string ras_bytes(const std::string& file) {
  const auto bytes = read_file(RAILBED_SOURCE_DIR "/tests/ras/" + file);
  EXPECT_TRUE(bytes) << file;
  return bytes.value_or("");
}

RasAnswer ras_read(const std::string& text) {
  auto answer = text.starts_with('{') ? read_ras_json(text) : read_ras_text(text);
  EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().text);
  return answer ? *answer : RasAnswer{};
}

RasAnswer ras_captured(const std::string& file) { return ras_read(ras_bytes(file)); }

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

RasVerdict ras_judged(const RasAnswer& first, const RasAnswer& second) {
  return judge_ras({first, second, 5});
}

// Ranks of a composed communicator: what each launched of AllGather and of AllReduce. One node, one process each.
struct ComposedComm {
  std::string id = "a1";
  std::vector<std::pair<int, int>> launched;
  int first_pid = 100;  // the process of rank 0; the others follow
  int init_state = 0;
  int step = 1;  // pid of the next rank
};

std::string composed(const std::vector<ComposedComm>& communicators) {
  std::string text = R"({"nccl_version": "2.29.7", "communicators": [)";
  for (const ComposedComm& one : communicators) {
    if (&one != &communicators.front()) text += ",";
    text += fmt::format(R"({{"hash": "0x{}", "size": {}, "ranks": [)", one.id, one.launched.size());
    for (std::size_t i = 0; i < one.launched.size(); ++i) {
      const int pid = one.first_pid + static_cast<int>(i) * one.step;
      text += fmt::format(
          R"({}{{"rank": {}, "host": "10.0.0.1", "pid": {}, "nvml_dev": {}, "status": {{"init_state": {}, "async_error": 0}},)",
          i == 0 ? "" : ",", i, pid, pid - 100, one.init_state);
      text += fmt::format(R"("collective_counts": {{"AllGather": {}, "AllReduce": {}}}}})",
                          one.launched[i].first, one.launched[i].second);
    }
    text += "]}";
  }
  return text + "]}";
}

RasVerdict compared(const std::vector<ComposedComm>& first, const std::vector<ComposedComm>& second) {
  return ras_judged(ras_read(composed(first)), ras_read(composed(second)));
}

TEST(RasText, NamesTheRankThatDiffersAndCompletesTheRest) {
  const RasAnswer answer = ras_captured("lag-2.26.txt");
  EXPECT_EQ(answer.version, "2.26.5");
  EXPECT_FALSE(answer.names_all);
  EXPECT_EQ(answer.nodes, 4);
  EXPECT_EQ(answer.processes, 32);
  EXPECT_EQ(answer.communicator_count, 9);
  ASSERT_EQ(answer.communicators.size(), 1U);
  const RasCommunicator& communicator = answer.communicators.front();
  EXPECT_EQ(communicator.id, "5f3e9a07c1d2b846");
  EXPECT_EQ(communicator.size, 32);
  EXPECT_EQ(communicator.states, (std::vector<RasTally>{{RasState::kRunning, 32}}));
  ASSERT_EQ(communicator.counts.size(), 1U);
  EXPECT_EQ(communicator.counts[0].function, "AllReduce");
  ASSERT_EQ(communicator.counts[0].parties.size(), 2U);
  EXPECT_EQ(communicator.counts[0].parties[0].launched, 18411U);
  EXPECT_EQ(communicator.counts[0].parties[0].ranks, std::vector<int>{21});
  EXPECT_EQ(communicator.counts[0].parties[1].ranks.size(), 31U);
  ASSERT_NE(communicator.find(21), nullptr);
  EXPECT_EQ(communicator.find(21)->pid, 70215);
  EXPECT_EQ(communicator.find(21)->gpu, 5);
  EXPECT_EQ(communicator.find(21)->node, "10.20.0.3");
  EXPECT_EQ(communicator.find(20), nullptr);
}

TEST(RasText, ReadsDeadAndUnresponsiveProcesses) {
  const RasAnswer answer = ras_captured("dead-2.28.txt");
  EXPECT_EQ(answer.nodes, 4);
  EXPECT_EQ(answer.processes, 32);
  EXPECT_EQ(answer.dead, (std::vector<RasProcess>{{70215, "10.20.0.3", "0 (NVML 5)"}}));
  EXPECT_EQ(answer.unresponsive, (std::vector<RasProcess>{{70216, "10.20.0.3", "6"}}));
  EXPECT_EQ(answer.timeouts, 2);
  ASSERT_EQ(answer.communicators.size(), 1U);
  const RasCommunicator& communicator = answer.communicators.front();
  EXPECT_EQ(communicator.find(21)->state, RasState::kDead);
  EXPECT_EQ(communicator.find(21)->gpu, 5);
  EXPECT_EQ(communicator.find(22)->state, RasState::kUnresponsive);
}

TEST(RasText, ReadsTheWordsOfTheFirstVersions) {
  const RasAnswer answer = ras_captured("teardown-2.24.txt");
  ASSERT_EQ(answer.communicators.size(), 1U);
  const RasCommunicator& communicator = answer.communicators.front();
  EXPECT_EQ(
      communicator.states,
      (std::vector<RasTally>{{RasState::kNotMember, 5}, {RasState::kRunning, 2}, {RasState::kFinalize, 1}}));
  ASSERT_EQ(communicator.counts.size(), 1U);
  EXPECT_EQ(communicator.counts[0].function, "collective");
  EXPECT_EQ(communicator.counts[0].parties[0].ranks, (std::vector<int>{0, 4}));
  const RasAnswer missing = ras_read(changed(changed(ras_bytes("dead-2.28.txt"), "2 ranks\n  Rank 21 --",
                                                     "2 ranks\n  The missing ranks: 21,22\n  Rank x --"),
                                             "  Rank 22 --", "  Rank y --"));
  EXPECT_EQ(missing.communicators.at(0).ranks.size(), 2U);
}

TEST(RasText, RefusesWhatEndsEarly) {
  const std::string whole = ras_bytes("lag-2.26.txt");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto answer = read_ras_text(std::string_view(whole).substr(0, size));
    // Only the empty line before the last block may pass for the end.
    EXPECT_TRUE(!answer || answer->communicators.empty()) << size;
  }
  EXPECT_FALSE(read_ras_text("SSH-2.0-OpenSSH_9.6\r\n\n"));
}

TEST(RasText, LeavesOutWhatCannotBe) {
  const std::string text = ras_bytes("lag-2.26.txt");
  EXPECT_EQ(ras_read(changed(text, "Rank 21 has", "Rank 1057455228 has")).unsound, 2);
  // A rank is missing from the counts: then nothing is said about who is ahead.
  const RasAnswer lost = ras_read(changed(text, "31 ranks", "30 ranks"));
  EXPECT_TRUE(lost.communicators.at(0).counts.empty());
  EXPECT_GT(lost.unsound, 0);
}

TEST(RasJson, ReadsEveryRank) {
  const RasAnswer answer = ras_captured("lag-2.29.json");
  EXPECT_TRUE(answer.names_all);
  EXPECT_EQ(answer.nodes, 2);
  EXPECT_EQ(answer.processes, 4);
  ASSERT_EQ(answer.communicators.size(), 1U);
  EXPECT_EQ(answer.communicators[0].id, "09c3b8e117f20a5d");
  EXPECT_EQ(answer.communicators[0].counts.size(), 5U);
  const RasAnswer stopped = ras_captured("stopped-2.29.json");
  EXPECT_EQ(stopped.unresponsive, (std::vector<RasProcess>{{4003, "10.50.0.2", "1"}}));
}

TEST(RasJson, AddsTheCommasThatTheFirstVersionsForgot) {
  const std::string forgot = ras_bytes("stopped-2.28.json");
  EXPECT_FALSE(json::parse(forgot));
  EXPECT_EQ(ras_read(forgot).unresponsive, (std::vector<RasProcess>{{4003, "10.50.0.2", "1"}}));
  for (std::size_t size = 0; size + 2 < forgot.size(); ++size)
    EXPECT_FALSE(read_ras_json(std::string_view(forgot).substr(0, size))) << size;
}

TEST(RasJson, SaysWhetherItsTextIsSound) {
  EXPECT_TRUE(may_ask_for_ras_text(ras_bytes("lag-2.29.json").substr(0, 40)));
  EXPECT_FALSE(may_ask_for_ras_text(ras_bytes("stopped-2.28.json")));
  EXPECT_FALSE(may_ask_for_ras_text("{}"));
}

TEST(RasJson, RefusesWhatEndsEarlyAndLeavesOutWhatCannotBe) {
  const std::string whole = ras_bytes("lag-2.29.json");
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    EXPECT_FALSE(read_ras_json(std::string_view(whole).substr(0, size))) << size;
  EXPECT_EQ(ras_read(changed(whole, "\"rank\": 3", "\"rank\": 2")).unsound, 1);
  EXPECT_EQ(ras_read(changed(whole, "\"size\": 4", "\"size\": 0")).unsound, 1);
  EXPECT_FALSE(read_ras_json(R"({"error": "no"})"));
}

TEST(RasVerdict, NamesTheRankThatKeepsOthersWaiting) {
  for (const std::string file : {"lag-2.26.txt", "lag-2.29.json"}) {
    const RasAnswer answer = ras_captured(file);
    const RasVerdict verdict = ras_judged(answer, answer);
    EXPECT_EQ(verdict.severity, nccl::Severity::kError);
    EXPECT_EQ(verdict.certainty, Certainty::kCause);
    ASSERT_EQ(verdict.lags.size(), 1U);
    EXPECT_FALSE(verdict.lags[0].others_go_on);
  }
  const RasAnswer text = ras_captured("lag-2.26.txt");
  EXPECT_EQ(ras_judged(text, text).text,
            "rank 21 on 10.20.0.3 (GPU 5, process 70215) has not entered AllReduce 18412 of communicator "
            "5f3e9a07c1d2b846, in which the 31 others wait");
  const RasAnswer json = ras_captured("lag-2.29.json");
  EXPECT_EQ(
      ras_judged(json, json).text,
      "rank 3 on 10.50.0.2 (GPU 1, process 4003) has not entered AllReduce 12, in which the 3 others wait");
}

TEST(RasVerdict, RanksThatGoOnDoNotLag) {
  // The one behind is one further in the second answer, where others are ahead again.
  const auto moving =
      compared({{.launched = {{5, 7}, {5, 8}, {5, 8}}}}, {{.launched = {{5, 8}, {5, 9}, {5, 9}}}});
  EXPECT_EQ(moving.severity, nccl::Severity::kNote);
  EXPECT_TRUE(moving.lags.empty());
  EXPECT_TRUE(moving.text.starts_with("no rank lags")) << moving.text;
  // Others went ahead only between the answers.
  const auto ahead = compared({{.launched = {{5, 7}, {5, 7}}}}, {{.launched = {{5, 7}, {5, 8}}}});
  EXPECT_TRUE(ahead.lags.empty());
  EXPECT_EQ(ahead.text.find("go on"), std::string::npos) << ahead.text;  // this is not known of the first
  // The text does not list what was equal.
  const RasAnswer now = ras_captured("lag-2.26.txt");
  RasAnswer before = now;
  before.communicators.clear();
  EXPECT_TRUE(ras_judged(before, now).lags.empty());
}

TEST(RasVerdict, ARankThatStandsWhileOthersGoOnIsAWarning) {
  const auto verdict = compared({{.launched = {{5, 60}, {5, 64}}}}, {{.launched = {{5, 60}, {5, 69}}}});
  EXPECT_EQ(verdict.severity, nccl::Severity::kWarning);
  ASSERT_EQ(verdict.lags.size(), 1U);
  EXPECT_TRUE(verdict.lags[0].others_go_on);
}

TEST(RasVerdict, AllAlikeIsNoProofThatAllIsWell) {
  const auto still = compared({{.launched = {{5, 7}, {5, 7}}}}, {{.launched = {{5, 7}, {5, 7}}}});
  EXPECT_EQ(still.severity, nccl::Severity::kNote);
  ASSERT_FALSE(still.notes.empty());
  EXPECT_NE(still.notes[0].find("nothing was launched"), std::string::npos);
  const auto going = compared({{.launched = {{5, 7}, {5, 7}}}}, {{.launched = {{5, 9}, {5, 9}}}});
  EXPECT_TRUE(going.notes.empty());
  EXPECT_NE(going.text, still.text);
}

TEST(RasVerdict, CountsOfGraphsAreNoProofBefore226) {
  const std::string old =
      changed(ras_bytes("lag-2.26.txt"), "different AllReduce operation", "different collective operation");
  const RasAnswer answer = ras_read(old);
  const auto verdict = ras_judged(answer, answer);
  ASSERT_EQ(verdict.lags.size(), 1U);
  EXPECT_EQ(verdict.certainty, Certainty::kLikely);
  EXPECT_NE(verdict.notes.at(0).find("CUDA graphs"), std::string::npos);
}

TEST(RasVerdict, RanksThatInitializeDoNotLag) {
  const std::vector<ComposedComm> starting = {{.launched = {{0, 0}, {0, 1}}, .init_state = 7}};
  const auto verdict = compared(starting, starting);
  EXPECT_TRUE(verdict.lags.empty());
  EXPECT_EQ(verdict.severity, nccl::Severity::kNote);
  EXPECT_EQ(verdict.text, "the job is still initializing its communicator");
}

TEST(RasVerdict, FollowsTheWaitAcrossCommunicators) {
  // In a1 rank 1 is behind, process 101; that process waits in b2, where process 102 is behind.
  const std::vector<ComposedComm> stuck = {{.id = "a1", .launched = {{5, 8}, {5, 7}}},
                                           {.id = "b2", .launched = {{3, 4}, {3, 3}}, .first_pid = 101}};
  const auto verdict = compared(stuck, stuck);
  ASSERT_EQ(verdict.lags.size(), 2U);
  EXPECT_EQ(verdict.lags[0].communicator.back(), '2');
  EXPECT_TRUE(verdict.lags[1].follows);
  EXPECT_EQ(verdict.certainty, Certainty::kCause);
  EXPECT_TRUE(verdict.text.starts_with("rank 1 on 10.0.0.1 (GPU 2, process 102) has not entered AllReduce 4"))
      << verdict.text;
}

TEST(RasVerdict, FindsCommunicatorsCalledInDifferentOrders) {
  const std::vector<ComposedComm> crossed = {
      {.id = "a1", .launched = {{5, 8}, {5, 7}}},
      {.id = "b2", .launched = {{3, 4}, {3, 3}}, .first_pid = 101, .step = -1}};
  const auto verdict = compared(crossed, crossed);
  EXPECT_TRUE(verdict.text.starts_with("ranks wait for each other in 2 communicators")) << verdict.text;
}

TEST(RasVerdict, FindsRanksThatMadeDifferentCalls) {
  const std::vector<ComposedComm> apart = {{.launched = {{6, 7}, {5, 8}, {6, 7}}}};
  const auto verdict = compared(apart, apart);
  EXPECT_TRUE(verdict.text.starts_with("ranks made different calls")) << verdict.text;
  EXPECT_EQ(verdict.severity, nccl::Severity::kError);
}

TEST(RasVerdict, JoinsCallsThatTheSameRankLacks) {
  const std::vector<ComposedComm> both = {{.launched = {{6, 8}, {5, 7}, {6, 8}}}};
  const auto verdict = compared(both, both);
  ASSERT_EQ(verdict.lags.size(), 1U);
  EXPECT_EQ(verdict.lags[0].calls, (std::vector<RasCall>{{"AllGather", 6}, {"AllReduce", 8}}));
}

TEST(RasVerdict, DoesNotChooseBetweenCommunicatorsWithoutNames) {
  RasAnswer answer = ras_captured("lag-2.26.txt");
  RasCommunicator other = answer.communicators[0];
  other.id = "6000000000000000";
  answer.communicators.push_back(other);
  EXPECT_EQ(ras_judged(answer, answer).certainty, Certainty::kOneOf);
}

TEST(RasVerdict, AProcessThatIsGoneComesFirst) {
  const RasAnswer answer = ras_captured("dead-2.28.txt");
  const auto verdict = ras_judged(answer, answer);
  EXPECT_EQ(verdict.severity, nccl::Severity::kError);
  ASSERT_EQ(verdict.silent.size(), 2U);
  EXPECT_EQ(verdict.text, "2 processes of the job do not answer: stopped, gone or cut off, and 30 others do");
  const RasAnswer stopped = ras_captured("stopped-2.29.json");
  EXPECT_EQ(
      ras_judged(stopped, stopped).text,
      "process 4003 on 10.50.0.2 (rank 3 of 4, GPU 1) does not answer: stopped, gone or cut off, and 3 others do");
}

// A job of two ranks whose last one sleeps, is stopped, and is given up by RAS, as both of its formats show it.
TEST(RasVerdict, NamesWhatHappenedToARealJob) {
  for (const std::string format : {"json", "txt"}) {
    SCOPED_TRACE(format);
    const auto verdict_of = [&](const std::string& state) {
      const RasAnswer answer = ras_captured(fmt::format("h200-{}-2.28.{}", state, format));
      EXPECT_EQ(answer.version, "2.28.9");
      EXPECT_EQ(answer.processes, 2U);
      return ras_judged(answer, answer);
    };
    EXPECT_NE(verdict_of("running").severity, nccl::Severity::kError);
    EXPECT_TRUE(verdict_of("running").lags.empty());
    const RasVerdict sleeping = verdict_of("sleeping");
    ASSERT_EQ(sleeping.lags.size(), 1U);
    EXPECT_TRUE(sleeping.text.starts_with("rank 1 on 192.0.2.2 (GPU 1, process ")) << sleeping.text;
    EXPECT_TRUE(sleeping.text.ends_with(", in which the 1 other waits")) << sleeping.text;
    for (const std::string state : {"stopped", "given-up"}) {
      const RasVerdict silent = verdict_of(state);
      EXPECT_EQ(silent.certainty, Certainty::kLikely);
      ASSERT_EQ(silent.silent.size(), 1U) << state;
      EXPECT_TRUE(silent.lags.empty()) << state;
      EXPECT_TRUE(silent.text.starts_with("process ")) << silent.text;
      EXPECT_TRUE(silent.text.ends_with("does not answer: stopped, gone or cut off, and 1 other does"))
          << silent.text;
    }
  }
}

TEST(RasVerdict, OthersMayGoOnWithoutAProcessThatEnded) {
  const std::string stopped = ras_bytes("stopped-2.29.json");
  const RasAnswer first = ras_read(stopped);
  RasAnswer second = first;
  EXPECT_EQ(ras_judged(first, second).certainty, Certainty::kLikely);
  EXPECT_TRUE(ras_judged(first, second).notes.empty());
  for (RasParty& party : second.communicators.at(0).counts.back().parties) ++party.launched;
  EXPECT_NE(ras_judged(first, second).notes.at(0).find("launched more"), std::string::npos);
}

TEST(RasVerdict, AProcessThatWasLateOnceIsNoFault) {
  const auto verdict = ras_judged(ras_captured("lag-2.29.json"), ras_captured("stopped-2.29.json"));
  EXPECT_EQ(verdict.severity, nccl::Severity::kNote);
  EXPECT_TRUE(verdict.silent.empty());
}

TEST(RasVerdict, AnErrorOfARankItselfComesBeforeThoseOfItsPeers) {
  const RasAnswer answer = ras_captured("error-2.27.txt");
  EXPECT_EQ(answer.nodes, 2);
  EXPECT_EQ(answer.processes, 4);
  const auto verdict = ras_judged(answer, answer);
  EXPECT_EQ(verdict.text, "rank 2 on 10.40.0.2 (GPU 0, process 911) reports: System error");
  EXPECT_EQ(verdict.why.size(), 3U);
}

TEST(RasVerdict, ATeardownIsNoLag) {
  const RasAnswer answer = ras_captured("teardown-2.24.txt");
  const auto verdict = ras_judged(answer, answer);
  EXPECT_FALSE(verdict.notes.empty());
  EXPECT_NE(to_text({answer, answer, 5}, verdict).find("5 not member"), std::string::npos);
}

}  // namespace
}  // namespace railbed::diagnose

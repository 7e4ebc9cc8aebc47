// The dumps in tests/flight/ were written by PyTorch 2.11 on two H100, those of late/ on two H200; only paths in them were
// replaced.
#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "diagnose/flight/flight_verdict.h"
#include "diagnose/flight/pickle.h"

namespace railbed::diagnose {
namespace {

std::string bytes_of(const std::string& file) {
  const auto bytes = read_file(RAILBED_SOURCE_DIR "/tests/flight/" + file);
  EXPECT_TRUE(bytes) << file;
  return bytes.value_or("");
}

FlightDump captured(const std::string& folder, const std::string& file) {
  auto dump = read_flight_dump(bytes_of(folder + "/" + file), file);
  EXPECT_TRUE(dump.has_value()) << (dump ? "" : dump.error().text);
  return dump ? *dump : FlightDump{};
}

FlightVerdict judged(const std::string& folder, const std::string& prefix = "nccl_trace_rank_") {
  return judge_flights({captured(folder, prefix + "0"), captured(folder, prefix + "1")});
}

// A call in a composed dump.
struct Composed {
  std::string group = "0";
  int number = 1;
  std::string state = "completed";
  std::string operation = "all_reduce";
  std::string sizes = "[[1024]]";
  bool point_to_point = false;
};

FlightDump composed(int rank, const std::string& ranks, const std::vector<Composed>& calls) {
  std::string entries;
  for (const Composed& call : calls)
    entries += std::string(entries.empty() ? "" : ",") + R"({"process_group":[")" + call.group +
               R"(","group )" + call.group + R"("],"collective_seq_id":)" +
               std::to_string(call.point_to_point ? 0 : call.number) + R"(,"p2p_seq_id":)" +
               std::to_string(call.point_to_point ? call.number : 0) + R"(,"profiling_name":"nccl:)" +
               call.operation + R"(","input_sizes":)" + call.sizes + R"(,"output_sizes":)" + call.sizes +
               R"(,"input_dtypes":["Float"],"output_dtypes":["Float"],"state":")" + call.state +
               R"(","is_p2p":)" + (call.point_to_point ? "true" : "false") + "}";
  std::string config;
  for (const std::string group : {"0", "1"})
    config += std::string(config.empty() ? "" : ",") + "\"" + group + R"(":{"name":")" + group +
              R"(","desc":"group )" + group + R"(","ranks":")" + ranks + "\"}";
  const auto dump =
      read_flight_dump(R"({"version":"2.10","pg_config":{)" + config + R"(},"entries":[)" + entries + "]}",
                       "nccl_trace_rank_" + std::to_string(rank));
  EXPECT_TRUE(dump.has_value()) << (dump ? "" : dump.error().text);
  return dump ? *dump : FlightDump{};
}

TEST(Flight, ReadsWhatPyTorchWrote) {
  const FlightDump dump = captured("missing", "nccl_trace_rank_0");
  EXPECT_EQ(dump.rank, 0);
  EXPECT_EQ(dump.version, "2.10");
  EXPECT_EQ(dump.nccl, "2.28.9");
  ASSERT_EQ(dump.groups.size(), 1u);
  EXPECT_EQ(dump.groups[0].description, "default_pg");
  EXPECT_EQ(dump.groups[0].ranks, (std::vector<int>{0, 1}));
  ASSERT_EQ(dump.groups[0].calls.size(), 2u);
  const FlightCall& pending = dump.groups[0].calls[1];
  EXPECT_EQ(pending.operation, "all_reduce");
  EXPECT_EQ(pending.number, 5);
  EXPECT_EQ(pending.state, FlightState::kScheduled);
  EXPECT_EQ(pending.where, "/home/user/training/src/train.py:18 (main)");
  EXPECT_FALSE(dump.records_starts);
}

// The process of rank 1 was stopped for 51 s; when its time limit had passed, it went on, and called what it had missed.
TEST(Flight, NamesTheRankThatCameTooLate) {
  const FlightVerdict verdict = judged("late");
  EXPECT_EQ(
      verdict.text,
      "rank 1 called all_reduce number 196 of group 0 (default_pg) 51 s after the first, which waits 40 s at most");
  EXPECT_EQ(verdict.certainty, Certainty::kCause);
  ASSERT_EQ(verdict.waits.size(), 1u);
  EXPECT_EQ(verdict.waits[0].late, std::vector<int>{1});
  EXPECT_NE(verdict.remedy.find("See what rank 1 did before this call"), std::string::npos);
}

// PyTorch updates the entry that ends coalesced calls, and never these calls.
TEST(Flight, CoalescedCallsHaveTheStateOfTheirEnd) {
  const auto dumps = [](const std::string& state, bool singles) {
    std::vector<FlightDump> both;
    for (const int rank : {0, 1}) {
      std::vector<Composed> calls;
      if (singles)
        calls.push_back({"0", 3, "scheduled", rank == 0 ? "send 0->1" : "recv 1<-0", "[[8]]", true});
      calls.push_back({"0", 3, state, "coalesced", "[]", true});
      both.push_back(composed(rank, "[0, 1]", calls));
    }
    return both;
  };
  EXPECT_FALSE(judge_flights(dumps("completed", true)).hangs);
  const FlightVerdict pending = judge_flights(dumps("scheduled", true));
  EXPECT_TRUE(pending.hangs);
  EXPECT_NE(pending.text.find("send to rank 1"), std::string::npos) << pending.text;
  const FlightVerdict unknown = judge_flights(dumps("started", false));
  EXPECT_TRUE(unknown.hangs);
  EXPECT_EQ(unknown.certainty, Certainty::kUnknown);
  EXPECT_NE(unknown.text.find("is in coalesced, which does not end"), std::string::npos) << unknown.text;
}

TEST(Flight, ADumpWithoutCallsProvesNothing) {
  const FlightVerdict verdict = judge_flights({composed(0, "[0, 1]", {}), composed(1, "[0, 1]", {})});
  EXPECT_FALSE(verdict.hangs);
  EXPECT_NE(verdict.text.find("no dump holds a call"), std::string::npos) << verdict.text;
}

// A clock that is off by an hour makes nobody late, and neither does a delay within the limit.
TEST(Flight, AClockThatIsOffIsNoDelay) {
  const auto shifted = [](std::int64_t all, std::int64_t last) {
    FlightDump dump = captured("late", "nccl_trace_rank_0");
    dump.rank = 1;
    for (FlightCall& call : dump.groups[0].calls) {
      call.created_ns += all * 1'000'000'000;
      if (call.state != FlightState::kCompleted) call.created_ns += last * 1'000'000'000;
    }
    return dump;
  };
  const FlightDump first = captured("late", "nccl_trace_rank_0");
  for (const FlightDump& other : {shifted(3600, 0), shifted(-3600, 39), shifted(0, 39)}) {
    const FlightVerdict verdict = judge_flights({first, other});
    EXPECT_EQ(verdict.certainty, Certainty::kUnknown) << verdict.text;
    EXPECT_TRUE(verdict.waits[0].late.empty());
  }
  EXPECT_EQ(judge_flights({first, shifted(-3600, 41)}).waits[0].late, std::vector<int>{1});
  FlightDump untimed = shifted(0, 100);
  std::erase_if(untimed.groups[0].calls,
                [](const FlightCall& call) { return call.state == FlightState::kCompleted; });
  EXPECT_EQ(judge_flights({first, untimed}).certainty, Certainty::kUnknown);
}

TEST(Flight, ReadsJsonAsItReadsPickles) {
  const FlightDump json = captured("sound", "json_rank_0.json");
  const FlightDump pickle = captured("sound", "trace_rank_0");
  EXPECT_EQ(json.rank, 0);
  ASSERT_EQ(json.groups.size(), pickle.groups.size());
  for (std::size_t i = 0; i < json.groups.size(); ++i) {
    EXPECT_EQ(json.groups[i].ranks, pickle.groups[i].ranks);
    ASSERT_EQ(json.groups[i].calls.size(), pickle.groups[i].calls.size());
    for (std::size_t k = 0; k < json.groups[i].calls.size(); ++k)
      EXPECT_EQ(json.groups[i].calls[k].operation, pickle.groups[i].calls[k].operation);
  }
}

TEST(Flight, NamesTheRankThatDidNotCall) {
  const FlightVerdict verdict = judged("missing");
  EXPECT_TRUE(verdict.hangs);
  EXPECT_EQ(verdict.certainty, Certainty::kCause);
  EXPECT_EQ(verdict.text,
            "rank 1 has not called all_reduce number 5 of group 0 (default_pg), in which rank 0 waits");
  ASSERT_FALSE(verdict.waits.empty());
  EXPECT_EQ(verdict.waits[0].behind, std::vector<int>{1});
}

TEST(Flight, NamesRanksThatDisagree) {
  const FlightVerdict verdict = judged("operation");
  EXPECT_EQ(verdict.certainty, Certainty::kCause);
  EXPECT_NE(verdict.text.find("disagree"), std::string::npos) << verdict.text;
  const std::string text = to_text(verdict);
  EXPECT_NE(text.find("all_reduce of [1024]"), std::string::npos) << text;
  EXPECT_NE(text.find("broadcast of [1024]"), std::string::npos) << text;
}

TEST(Flight, NamesTheGpuThatHasNotBegun) {
  const FlightVerdict verdict = judged("busy");
  EXPECT_EQ(verdict.certainty, Certainty::kLikely);
  EXPECT_NE(verdict.text.find("rank 1 has called"), std::string::npos) << verdict.text;
}

TEST(Flight, FindsNothingInSoundDumps) {
  const FlightVerdict verdict = judged("sound", "trace_rank_");
  EXPECT_FALSE(verdict.hangs) << verdict.text;
  EXPECT_TRUE(verdict.waits.empty());
}

TEST(Flight, NamesARankWithoutADump) {
  const FlightVerdict verdict = judge_flights({captured("missing", "nccl_trace_rank_0")});
  EXPECT_EQ(verdict.certainty, Certainty::kLikely);
  EXPECT_NE(verdict.text.find("no dump of rank 1 was given"), std::string::npos) << verdict.text;
}

TEST(Flight, BlamesNoRankIfAllAreInTheCall) {
  const FlightVerdict verdict = judge_flights(
      {composed(0, "[0, 1]", {{.state = "scheduled"}}), composed(1, "[0, 1]", {{.state = "scheduled"}})});
  EXPECT_TRUE(verdict.hangs);
  EXPECT_EQ(verdict.certainty, Certainty::kUnknown);
  EXPECT_NE(verdict.text.find("ranks 0, 1 are all in"), std::string::npos) << verdict.text;
}

TEST(Flight, FindsGroupsThatWereCalledInDifferentOrders) {
  // Rank 0 is in group 0 and has not come to group 1; rank 1 is in group 1 and has not come to group 0.
  const FlightVerdict verdict = judge_flights({
      composed(0, "[0, 1]", {{.group = "0", .number = 2, .state = "scheduled"}, {.group = "1", .number = 6}}),
      composed(1, "[0, 1]", {{.group = "0", .number = 1}, {.group = "1", .number = 7, .state = "scheduled"}}),
  });
  ASSERT_EQ(verdict.waits.size(), 2u);
  EXPECT_NE(verdict.text.find("different orders"), std::string::npos) << verdict.text;
}

TEST(Flight, FollowsARankThatWaitsInAnotherGroup) {
  // Rank 0 waits in group 0 for rank 1, which waits in group 1 for rank 2, which calls nothing.
  const FlightVerdict verdict = judge_flights({
      composed(0, "[0, 1, 2]",
               {{.group = "0", .number = 2, .state = "scheduled"}, {.group = "1", .number = 7}}),
      composed(1, "[0, 1, 2]",
               {{.group = "0", .number = 1}, {.group = "1", .number = 7, .state = "scheduled"}}),
      composed(2, "[0, 1, 2]", {{.group = "0", .number = 2}, {.group = "1", .number = 6}}),
  });
  ASSERT_EQ(verdict.waits.size(), 2u);
  EXPECT_EQ(verdict.text,
            "rank 2 has not called all_reduce number 7 of group 1 (group 1), in which rank 1 waits");
}

TEST(Flight, OutweighsSizesByTheOperation) {
  const auto with = [&](const std::string& operation, const std::string& sizes) {
    return judge_flights(
        {composed(0, "[0, 1]", {{.state = "scheduled", .operation = operation}}),
         composed(1, "[0, 1]", {{.state = "scheduled", .operation = operation, .sizes = sizes}})});
  };
  EXPECT_EQ(with("all_reduce", "[[512]]").certainty, Certainty::kCause);
  EXPECT_EQ(with("all_to_all", "[[512]]").certainty, Certainty::kUnknown);  // uneven ones are allowed
}

TEST(Flight, MatchesSendsWithReceives) {
  const Composed receive{.number = 1, .state = "scheduled", .operation = "recv 0<-1", .point_to_point = true};
  const Composed send{.number = 4, .state = "scheduled", .operation = "send 1->0", .point_to_point = true};
  const FlightVerdict alone = judge_flights({composed(0, "[0, 1]", {receive}), composed(1, "[0, 1]", {{}})});
  EXPECT_NE(alone.text.find("recv from rank 1"), std::string::npos) << alone.text;
  EXPECT_EQ(alone.certainty, Certainty::kCause);
  const FlightVerdict both = judge_flights({composed(0, "[0, 1]", {receive}), composed(1, "[0, 1]", {send})});
  EXPECT_EQ(both.certainty, Certainty::kUnknown) << both.text;
}

TEST(Flight, LeavesOutFilesWithoutARank) {
  FlightDump nameless = captured("missing", "nccl_trace_rank_0");
  nameless.rank = -1;
  const FlightVerdict verdict = judge_flights({nameless});
  EXPECT_FALSE(verdict.hangs);
  EXPECT_FALSE(verdict.notes.empty());
}

TEST(Pickle, RefusesWhatIsNotData) {
  // cos\nsystem\n(S'true'\ntR. in protocol 2: an import and a call.
  const auto call =
      read_pickle(std::string_view("\x80\x02"
                                   "cos\nsystem\nX\x04\0\0\0true\x85R.",
                                   28));
  ASSERT_FALSE(call.has_value());
  EXPECT_NE(call.error().text.find("0x63"), std::string::npos) << call.error().text;
  EXPECT_FALSE(read_pickle(std::string_view("\x80\x02}", 3)).has_value());                    // cut off
  EXPECT_FALSE(read_pickle(std::string_view("\x80\x02X\xff\xff\xff\x7fy.", 9)).has_value());  // too long
  EXPECT_FALSE(read_pickle(std::string_view("\x80\x02h\x07.", 5)).has_value());               // undefined
  EXPECT_FALSE(read_pickle(std::string_view("\x80\x02u.", 4)).has_value());                   // no mark
}

TEST(Pickle, SurvivesAListThatHoldsItself) {
  // l = []; l.append(l); {"entries": l}
  const std::string bytes(
      "\x80\x02}X\x07\0\0\0entries]q\x01h\x01"
      "as.",
      23);
  const auto dump = read_flight_dump(bytes, "rank_0");
  ASSERT_TRUE(dump.has_value()) << dump.error().text;
  EXPECT_TRUE(dump->groups.empty());
}

TEST(Pickle, ReadsNegativeAndLongNumbers) {
  const auto tree = read_pickle(std::string_view(
      "\x80\x02]q\0(J\xff\xff\xff\xff\x8a\x02\x00\xff\x8a\x08\x01\0\0\0\0\0\0\x80\x65.", 27));
  ASSERT_TRUE(tree.has_value()) << tree.error().text;
  const auto& items = tree->at(tree->root).items;
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(tree->at(items[0]).integer, -1);
  EXPECT_EQ(tree->at(items[1]).integer, -256);
  EXPECT_EQ(tree->at(items[2]).integer, INT64_MIN + 1);
}

}  // namespace
}  // namespace railbed::diagnose

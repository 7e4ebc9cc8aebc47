#include "campaign/measure/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* label : {"back-to-back", "switch", "switch"}) {
      BenchRun run;
      run.label = label;
      keep_run(path(), run, {});
      EXPECT_GT(run.id, 0);
    }
  }
  std::string path() const { return folder_ / "runs.sqlite"; }
  std::int64_t found(const std::string& word) const {
    const auto run = find_run(path(), word);
    return run ? run->id : -1;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(HistoryTest, ARunIsFoundByNumberLabelAndPlace) {
  EXPECT_EQ(found("1"), 1);
  EXPECT_EQ(found("back-to-back"), 1);
  EXPECT_EQ(found("switch"), 3);  // the newest of that label
  EXPECT_EQ(found("last"), 3);
  EXPECT_EQ(found("99"), -1);
  EXPECT_EQ(found("baseline"), -1);
  ASSERT_TRUE(open_history(path())->set_baseline(2));
  EXPECT_EQ(found("baseline"), 2);
}

TEST_F(HistoryTest, SeveralRunsAreNamedWithCommas) {
  const auto runs = find_runs(path(), "1, switch");
  ASSERT_TRUE(runs) << runs.error().text;
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].id, 1);
  EXPECT_EQ((*runs)[1].id, 3);
  EXPECT_EQ(find_runs(path(), "2")->size(), 1u);
  EXPECT_FALSE(find_runs(path(), "1,99"));
  EXPECT_FALSE(find_runs(path(), "1,"));
  BenchRun comma;
  comma.label = "a,b";
  keep_run(path(), comma, {});
  EXPECT_EQ(find_runs(path(), "a,b")->size(), 1u);
}

TEST_F(HistoryTest, EarlierRunsHaveTheSameOptionsAndMakeNoHistory) {
  BenchRun other;
  other.asked = {{"traffic-class", "104"}};
  keep_run(path(), other, {});
  EXPECT_EQ(earlier_runs(path(), BenchRun(), {}).size(), 3u);
  EXPECT_EQ(earlier_runs(path(), other, {}).size(), 1u);
  EXPECT_TRUE(earlier_runs(folder_ / "none.sqlite", other, {}).empty());
  EXPECT_FALSE(fs::exists(folder_ / "none.sqlite"));
}

TEST_F(HistoryTest, AnUnknownWordSaysWhatWouldBeUnderstood) {
  const auto run = find_run(path(), "swich");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().text, HasSubstr("\"swich\" is no run"));
}

TEST_F(HistoryTest, AnExportedFileIsARun) {
  const std::string file = folder_ / "x.json";
  std::ofstream(file) << json::dump(json::encode(*find_run(path(), "1")));
  EXPECT_EQ(find_run(path(), file)->label, "back-to-back");
  std::ofstream(file) << "{";
  const auto broken = find_run(path(), file);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text, HasSubstr("x.json"));
}

TEST_F(HistoryTest, TheOutputOfAnotherToolIsARunAndWhatIsNotReadIsNoted) {
  std::vector<std::string> notes;
  const Caller caller{.note = [&](std::string_view line) { notes.emplace_back(line); }};
  const std::string fixtures = RAILBED_SOURCE_DIR "/tests/foreign/";
  const auto run = find_run(path(), fixtures + "perftest-4.4-write-all.txt", caller);
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_EQ(run->measurements.size(), 4u);
  EXPECT_TRUE(notes.empty());
  ASSERT_TRUE(find_run(path(), fixtures + "fio-3.33-notes.json", caller));
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("fio-3.33-notes.json: not read: job b"));
}

TEST_F(HistoryTest, AFileOfAnUnknownKindIsRefusedWithTheKnownOnes) {
  const std::string file = folder_ / "netperf.txt";
  std::ofstream(file) << "MIGRATED TCP STREAM TEST\n";
  const auto text = find_run(path(), file);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().text, HasSubstr("no known kind"));
  EXPECT_THAT(text.error().text, HasSubstr("nccl-tests"));
  const std::string document = folder_ / "other.json";
  std::ofstream(document) << "{\"results\": []}";
  const auto json = find_run(path(), document);
  ASSERT_FALSE(json);
  EXPECT_THAT(json.error().text, HasSubstr("sockperf"));
}

TEST_F(HistoryTest, ARunIsPreferredToAFileOfItsLabel) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  for (const char* name : {"switch", "other"})
    fs::copy_file(RAILBED_SOURCE_DIR "/tests/foreign/iperf3-3.12-text.txt", name);
  EXPECT_EQ(found("switch"), 3);
  EXPECT_EQ(found("other"), 0);
  fs::current_path(before);
}

TEST_F(HistoryTest, AHistoryThatCannotBeWrittenCostsNothing) {
  BenchRun run;
  std::string said;
  const Caller caller{.note = [&](std::string_view line) { said = line; }};
  keep_run("/proc/no/such/place", run, caller);
  EXPECT_EQ(run.id, 0);
  EXPECT_THAT(said, HasSubstr("not kept in the history"));
}

}  // namespace
}  // namespace railbed

#include "campaign/measure/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

TEST_F(HistoryTest, AnUnknownWordSaysWhatWouldBeUnderstood) {
  const auto run = find_run(path(), "swich");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().text, HasSubstr("\"swich\" is no run"));
}

TEST_F(HistoryTest, AnExportedFileIsARun) {
  const std::string file = folder_ / "x.json";
  std::ofstream(file) << run_to_json(*find_run(path(), "1"));
  EXPECT_EQ(find_run(path(), file)->label, "back-to-back");
  std::ofstream(file) << "{";
  const auto broken = find_run(path(), file);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text, HasSubstr("x.json"));
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

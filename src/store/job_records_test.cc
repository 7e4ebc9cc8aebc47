#include "store/job_records.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/kept_format.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

class JobRecordsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "railbed-jobs-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    parent_ = name;
    folder_ = name + "/jobs";
  }
  void TearDown() override { fs::remove_all(parent_); }

  JobRecords open() {
    auto records = JobRecords::open(folder_, JobRecords::Missing::kIsMade);
    EXPECT_TRUE(records) << records.error().text;
    return std::move(*records);
  }
  static JobRecord record_of(std::string id) {
    JobRecord record;
    record.id = std::move(id);
    record.node = "gpu01";
    record.begin = JobLook{.time = 1000, .boot_id = "one"};
    record.begin->ports["mlx5_0/1"].counters["link_downed"] = 3;
    return record;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  // Makes the file of a record look older.
  void age(std::size_t seconds, const fs::path& file) const {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }

  std::string parent_;
  std::string folder_;
};

TEST_F(JobRecordsTest, GivesBackWhatWasWritten) {
  const auto records = open();
  ASSERT_TRUE(records.write(record_of("4711")));
  const auto found = records.find("4711");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->begin->ports.at("mlx5_0/1").counters.at("link_downed"), 3U);
  EXPECT_FALSE((*found)->end);
  const auto other = records.find("4712");
  ASSERT_TRUE(other);
  EXPECT_FALSE(*other);
}

TEST_F(JobRecordsTest, NoIdIsAPath) {
  const auto records = open();
  for (const std::string id : {"../../escape", "/etc/passwd", ".", "..", "a/b", "-rf", "job-x.json", "x y"}) {
    ASSERT_TRUE(records.write(record_of(id))) << id;
    const auto found = records.find(id);
    ASSERT_TRUE(found && *found) << id;
    EXPECT_EQ((*found)->id, id);
  }
  EXPECT_EQ(files(), 8U);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("job-"));
    EXPECT_EQ(entry.status().permissions() & fs::perms::mask, fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_EQ(fs::status(folder_).permissions() & fs::perms::mask, fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator(parent_), fs::directory_iterator()), 1);
}

TEST_F(JobRecordsTest, RefusesIdsThatCannotBeShown) {
  EXPECT_EQ(complaint_about_job_id("4711_3"), "");
  EXPECT_NE(complaint_about_job_id(""), "");
  EXPECT_NE(complaint_about_job_id("a\nb"), "");
  EXPECT_NE(complaint_about_job_id("\x1b[31m"), "");
  EXPECT_NE(complaint_about_job_id(std::string(kLongestJobId + 1, 'x')), "");
}

TEST_F(JobRecordsTest, KeepsTheLatestWithinItsLimits) {
  const auto records = open();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(records.write(record_of(std::to_string(i))));
  std::size_t seconds = 0;
  for (const JobRecord& record : records.newest(10).records) {
    const std::string name = record.id;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream text(entry.path());
      const std::string content((std::istreambuf_iterator<char>(text)), {});
      if (content.find("\"id\":\"" + name + "\"") != std::string::npos)
        age(100 * (5 - std::stoul(name)), entry.path());
    }
    ++seconds;
  }
  const double now = static_cast<double>(time(nullptr));
  records.prune(now, 4);
  ASSERT_EQ(files(), 4U);
  const auto left = records.newest(10).records;
  ASSERT_EQ(left.size(), 4U);
  EXPECT_EQ(left.front().id, "5");
  EXPECT_EQ(left.back().id, "2");
  EXPECT_EQ(records.newest(2).records.size(), 2U);
  const auto size = fs::file_size(fs::directory_iterator(folder_)->path());
  records.prune(now, 4, 2 * size + size / 2);
  EXPECT_EQ(files(), 2U);
  records.prune(now + kOldestJobSeconds - 50);  // the newest is not that old yet; the one before is
  EXPECT_EQ(files(), 1U);
  records.prune(now + kOldestJobSeconds + 5000);
  EXPECT_EQ(files(), 0U);
}

TEST_F(JobRecordsTest, RemovesNothingElse) {
  const auto records = open();
  std::ofstream(folder_ + "/notes.txt") << "mine";
  ASSERT_EQ(symlink("/etc/hostname", (folder_ + "/job-0123456789abcdef0123456789abcdef.json").c_str()), 0);
  records.prune(4e9, 0, 0);
  EXPECT_EQ(files(), 2U);
  EXPECT_TRUE(records.newest(10).records.empty());
}

TEST_F(JobRecordsTest, FilesThatAreNoRecordsAreCounted) {
  const auto records = open();
  ASSERT_TRUE(records.write(record_of("1")));
  std::ofstream(folder_ + "/job-0123456789abcdef0123456789abcdef.json")
      << "{\"version\": 1, \"id\": \"a\\nb\"}";
  std::ofstream(folder_ + "/job-1123456789abcdef0123456789abcdef.json") << "nonsense";
  const auto found = records.newest(10);
  EXPECT_EQ(found.records.size(), 1U);
  EXPECT_EQ(found.unreadable, 2U) << "one is in the place of another job, one is no JSON";
  EXPECT_FALSE(job_record_from_json("{\"version\": 2, \"id\": \"1\"}"));
  EXPECT_EQ(kJobRecordVersion, format_of(Kept::kJob).written);
  EXPECT_FALSE(job_record_from_json("{\"version\": 1}"));
}

TEST_F(JobRecordsTest, AFolderThatOthersMayWriteIsRefused) {
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::all);
  const auto records = JobRecords::open(folder_, JobRecords::Missing::kIsMade);
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().text.find("chmod go-w"), std::string::npos) << records.error().text;
}

TEST_F(JobRecordsTest, AFolderThatIsNotThereIsMadeOnlyForWriting) {
  const auto records = JobRecords::open(folder_, JobRecords::Missing::kIsAnError);
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().text.find("railbed job begin"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace railbed

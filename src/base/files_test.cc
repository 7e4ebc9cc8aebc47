#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return folder_ / name; }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(Files, ItIsToldBeforehandWhetherAFileCanBeWritten) {
  EXPECT_TRUE(check_writable(in("new")));
  EXPECT_TRUE(check_writable("/dev/null"));
  ASSERT_TRUE(write_file(in("old"), "text"));
  EXPECT_TRUE(check_writable(in("old")));
  EXPECT_EQ(*read_file(in("old")), "text");
  EXPECT_THAT(check_writable(in("nowhere/new")).error().text, HasSubstr("there is no folder"));
  EXPECT_THAT(check_writable(folder_).error().text, HasSubstr("it is a folder"));
}

TEST_F(Files, WhatWasWrittenIsRead) {
  ASSERT_TRUE(write_file(in("a"), "one\n"));
  ASSERT_TRUE(write_file(in("a"), "two\n", 0600));
  EXPECT_EQ(*read_file(in("a")), "two\n");
  struct stat status = {};
  ASSERT_EQ(stat(in("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no temporary file stays";
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_THAT(read_file(in("pipe")).error().text, HasSubstr("it is a pipe"));
  EXPECT_THAT(read_file("/dev/zero").error().text, HasSubstr("it is a device"));
  EXPECT_THAT(read_file(folder_).error().text, HasSubstr("it is a folder"));
  EXPECT_THAT(read_file(in("none")).error().text, HasSubstr("No such file"));
}

TEST_F(Files, AnEndlessFileIsGivenUp) {
  ASSERT_TRUE(write_file(in("sparse"), ""));
  ASSERT_EQ(truncate(in("sparse").c_str(), off_t{1} << 40), 0);
  EXPECT_THAT(read_file(in("sparse"), 1 << 20).error().text, HasSubstr("larger than 1 MiB"));
  ASSERT_TRUE(write_file(in("exact"), std::string(100, 'x')));
  EXPECT_TRUE(read_file(in("exact"), 100));
  EXPECT_FALSE(read_file(in("exact"), 99));
}

TEST_F(Files, ADeviceStaysADevice) {
  ASSERT_TRUE(write_file("/dev/null", "gone"));
  struct stat status = {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(Files, APipeOfThisProcessIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  std::thread feeder([&] {
    ASSERT_EQ(write(writer.get(), "from ", 5), 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_EQ(write(writer.get(), "<(…)", 6), 6);
    writer.reset();
  });
  EXPECT_EQ(*read_file(fmt::format("/dev/fd/{}", reader.get())), "from <(…)");
  feeder.join();
}

TEST_F(Files, AFileOfThisProcessIsReadFromItsBeginning) {
  ASSERT_TRUE(write_file(in("file"), "whole"));
  const Fd fd(open(in("file").c_str(), O_RDONLY));
  char piece[3];
  ASSERT_EQ(read(fd.get(), piece, sizeof piece), 3);
  EXPECT_EQ(*read_file(fmt::format("/proc/self/fd/{}", fd.get())), "whole");
}

TEST_F(Files, APlaceThatCannotBeWrittenIsBadInput) {
  EXPECT_EQ(write_file(in("no/folder"), "text").error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(check_writable(in("no/folder")).error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(write_file(in(""), "text").error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(write_file("/dev/full", "text").error().kind, ErrorKind::kUnavailable);
}

TEST_F(Files, APipeTakesTheTextAndIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(write_file(in("pipe"), "nobody reads"));
  const Fd reader(open(in("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(write_file(in("pipe"), "text"));
  char got[8] = {};
  EXPECT_EQ(read(reader.get(), got, sizeof got), 4);
  EXPECT_TRUE(fs::is_fifo(in("pipe")));
}

TEST_F(Files, ALinkStaysALink) {
  ASSERT_TRUE(write_file(in("real"), "old"));
  fs::create_symlink("real", in("link"));
  ASSERT_TRUE(write_file(in("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(*read_file(in("real")), "new");
  fs::create_symlink("nowhere", in("dangling"));
  EXPECT_FALSE(write_file(in("dangling"), "x"));
  fs::create_directory(in("folder"));
  EXPECT_THAT(write_file(in("folder"), "x").error().text, HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace railbed

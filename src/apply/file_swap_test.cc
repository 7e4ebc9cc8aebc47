#include "apply/file_swap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "apply/testing/toy_machine.h"
#include "settings/files.h"

namespace railbed {
namespace {

using testing::HasSubstr;

constexpr const char* kPath = "/etc/sysctl.d/90-railbed.conf";

KeptFile file_of(std::string_view text, int mode = 0644) {
  return {{std::string(text)}, mode, geteuid(), getegid(), ""};
}

class FileSwap : public testing::Test {
 protected:
  // One file that changes, one that is created, and one that is removed.
  void begin(bool before, bool after) {
    if (before) toy_.put(kPath, "old\n");
    edit_ = {kPath, before ? std::optional(file_of("old\n")) : std::nullopt,
             after ? std::optional(file_of("new\n")) : std::nullopt};
    ASSERT_TRUE(prepare_swap(host_, edit_));
  }
  void expect_as_before() const {
    EXPECT_EQ(toy_.has(kPath), edit_.before.has_value());
    EXPECT_EQ(toy_.text(kPath), edit_.before ? "old\n" : "");
    EXPECT_FALSE(toy_.has(side_name(kPath)));
  }
  std::string edited() const { return toy_.text(std::string(kPath) + ".railbed-edited~"); }

  ToyMachine toy_;
  WritableHost host_ = toy_.host();
  KeptEdit edit_;
};

struct Kind {
  bool before;
  bool after;
};
constexpr Kind kKinds[] = {{true, true}, {false, true}, {true, false}};

TEST_F(FileSwap, GoesBackWithoutSpace) {
  for (const Kind kind : kKinds) {
    begin(kind.before, kind.after);
    ASSERT_TRUE(swap_in(host_, edit_));
    EXPECT_EQ(toy_.text(kPath), kind.after ? "new\n" : "");
    host_.before_each = [](std::string_view operation) {
      return operation.starts_with("write ") || operation.starts_with("overwrite ") ? ENOSPC : 0;
    };
    const auto back = swap_back(host_, edit_);
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(*back, "");
    expect_as_before();
    ASSERT_TRUE(swap_back(host_, edit_)) << "again does no harm";
    expect_as_before();
    host_.before_each = [](std::string_view) { return 0; };
    toy_.remove(kPath);
  }
}

TEST_F(FileSwap, BringsTheOldFileItselfBack) {
  begin(true, true);
  struct stat was = {};
  struct stat is = {};
  ASSERT_EQ(stat(host_.below_root(kPath).c_str(), &was), 0);
  ASSERT_TRUE(swap_in(host_, edit_));
  ASSERT_TRUE(swap_back(host_, edit_));
  ASSERT_EQ(stat(host_.below_root(kPath).c_str(), &is), 0);
  EXPECT_EQ(was.st_ino, is.st_ino);
  EXPECT_EQ(was.st_mtim.tv_nsec, is.st_mtim.tv_nsec);
}

TEST_F(FileSwap, WhoeverWroteAfterThePlanKeepsTheFile) {
  for (const Kind kind : kKinds) {
    begin(kind.before, kind.after);
    toy_.put(kPath, "by a person\n");
    const auto swapped = swap_in(host_, edit_);
    ASSERT_FALSE(swapped);
    EXPECT_THAT(swapped.error().text, HasSubstr("has changed since the plan"));
    EXPECT_EQ(toy_.text(kPath), "by a person\n");
    ASSERT_TRUE(swap_back(host_, edit_));
    EXPECT_EQ(toy_.text(kPath), "by a person\n");
    EXPECT_FALSE(toy_.has(side_name(kPath)));
    toy_.remove(kPath);
  }
}

TEST_F(FileSwap, AnEditAfterTheSwapIsKeptBesideTheFile) {
  for (const Kind kind : kKinds) {
    begin(kind.before, kind.after);
    ASSERT_TRUE(swap_in(host_, edit_));
    toy_.put(kPath, "by a person\n");
    const auto back = swap_back(host_, edit_);
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_THAT(*back, HasSubstr(".railbed-edited~"));
    expect_as_before();
    EXPECT_EQ(edited(), "by a person\n");
    toy_.remove(kPath);
    toy_.remove(std::string(kPath) + ".railbed-edited~");
  }
}

TEST_F(FileSwap, ALinkThatSomebodyPutThereIsKeptToo) {
  begin(true, true);
  ASSERT_TRUE(swap_in(host_, edit_));
  toy_.remove(kPath);
  std::filesystem::create_symlink("/nowhere", host_.below_root(kPath));
  ASSERT_TRUE(swap_back(host_, edit_));
  expect_as_before();
  EXPECT_TRUE(std::filesystem::is_symlink(host_.below_root(kPath) + ".railbed-edited~"));
}

TEST_F(FileSwap, WhatAnEditorHeldOpenIsKeptAtTheEnd) {
  begin(true, true);
  ASSERT_TRUE(swap_in(host_, edit_));
  toy_.put(side_name(kPath), "old, and a line of a person\n");
  const auto ended = end_swap(host_, edit_);
  ASSERT_TRUE(ended) << ended.error().text;
  EXPECT_EQ(edited(), "old, and a line of a person\n");
  EXPECT_EQ(toy_.text(kPath), "new\n");
}

TEST_F(FileSwap, LinesOutsideOfTheMarksStay) {
  const std::string before = "127.0.0.1 localhost\n";
  const std::string after = with_block(before, "10.77.0.1 node1-rail0\n");
  const KeptEdit edit{"/etc/hosts", file_of(before), file_of(after)};
  toy_.put("/etc/hosts", before);
  ASSERT_TRUE(prepare_swap(host_, edit));
  ASSERT_TRUE(swap_in(host_, edit));
  toy_.put("/etc/hosts", "# mine\n" + after + "10.1.2.3 nas\n");
  const auto back = swap_back(host_, edit);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(toy_.text("/etc/hosts"), "# mine\n" + before + "10.1.2.3 nas\n");
  EXPECT_FALSE(toy_.has("/etc/hosts.railbed-edited~"));

  // In a block that a person edited, the lines to keep are unknown.
  EXPECT_FALSE(without_change(edit, file_of(with_block(before, "10.77.0.9 node1-rail0\n"))));
  EXPECT_FALSE(without_change(edit, file_of(before + "10.1.2.3 nas\n")));
}

TEST_F(FileSwap, ALineThatTheChangeCorrectedComesBackBesideAPersonsLines) {
  const std::string before = "127.0.0.1 localhost\n127.0.1.1 node1 # by the installer\n";
  const std::string corrected = "127.0.0.1 localhost\n10.0.0.1 node1 # by the installer\n";
  const std::string after = with_block(corrected, "10.0.0.1 node1\n");
  const KeptEdit edit{"/etc/hosts", file_of(before), file_of(after)};
  const auto back = without_change(edit, file_of("# mine\n" + after + "10.1.2.3 nas\n"));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->content.bytes, "# mine\n" + before + "10.1.2.3 nas\n");
  // The block's own line is not the corrected one, and a person's line that equals it is.
  const KeptEdit bare{"/etc/hosts", file_of("127.0.1.1 node1\n"),
                      file_of(with_block("10.0.0.1 node1\n", "10.0.0.1 node1\n"))};
  const auto again = without_change(bare, file_of(with_block("10.0.0.1 node1\nx\n", "10.0.0.1 node1\n")));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->content.bytes, "127.0.1.1 node1\nx\n");
  EXPECT_FALSE(
      without_change(bare, file_of(with_block("10.0.0.1 node1\n10.0.0.1 node1\n", "10.0.0.1 node1\n"))));
  EXPECT_FALSE(without_change(bare, file_of(with_block("10.0.0.9 node1\n", "10.0.0.1 node1\n"))));
}

TEST_F(FileSwap, ShowsWhatAPersonChanged) {
  EXPECT_EQ(difference(file_of("a\nb\nc\n"), file_of("a\nx\033[2J\nc\n")), "  - b\n  + x\xEF\xBF\xBD[2J");
  EXPECT_EQ(difference(file_of("a\n"), std::nullopt), "  it was removed");
  EXPECT_THAT(difference(file_of("a\n"), file_of("a\n", 0600)), HasSubstr("mode or owner"));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += fmt::format("line {}\n", i);
  EXPECT_LT(difference(file_of("a\n"), file_of(many)).size(), 500U);
}

}  // namespace
}  // namespace railbed

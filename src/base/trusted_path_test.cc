#include "base/trusted_path.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/files.h"
#include "base/testing/temporary_folder.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uid_t kAnother = 60001;

class TrustedPath : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "a/b"); }
  std::string in(const std::string& name) const { return folder_ / name; }
  static void give_away(const std::string& path) { ASSERT_EQ(lchown(path.c_str(), kAnother, kAnother), 0); }
  static int code_of(const std::string& path, Strangers strangers, LastLink last = LastLink::kStay) {
    const FoundEntry place = find_entry(path, strangers, last);
    return place ? 0 : place.error().code;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

class TrustedPathAsRoot : public TrustedPath {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
    TrustedPath::SetUp();
  }
};

TEST_F(TrustedPath, EndsInTheFolderOfAName) {
  const FoundEntry place = find_entry(in("a/./b//c"), Strangers::kNothing);
  ASSERT_TRUE(place) << place.error().why;
  EXPECT_EQ(place->name, "c");
  EXPECT_EQ(place->directory, in("a/b"));
  EXPECT_EQ(find_entry("/", Strangers::kNothing)->name, ".");
  EXPECT_EQ(code_of(in("none/c"), Strangers::kNothing), ENOENT);
  std::ofstream(in("file")) << "x";
  EXPECT_EQ(code_of(in("file/c"), Strangers::kNothing), ENOTDIR);
  EXPECT_EQ(find_entry(in("a/b/../c"), Strangers::kNothing)->directory, in("a"));
}

TEST_F(TrustedPath, ChecksAStateFolderWithoutMakingIt) {
  EXPECT_TRUE(check_state_folder(in("a")));
  EXPECT_TRUE(check_state_folder(in("a/new/one")));
  EXPECT_FALSE(fs::exists(in("a/new")));
  std::ofstream(in("file")) << "x";
  for (const char* const wrong : {"file", "file/below"}) {
    const auto checked = check_state_folder(in(wrong));
    ASSERT_FALSE(checked) << wrong;
    EXPECT_EQ(checked.error().kind, ErrorKind::kBadInput) << wrong;
    EXPECT_THAT(checked.error().text, HasSubstr("Not a directory")) << wrong;
  }
  fs::permissions(in("a/b"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(check_state_folder(in("a/b"))) << "others may write there";
}

TEST_F(TrustedPath, FollowsLinksOfOurs) {
  fs::create_symlink("a", in("relative"));
  fs::create_symlink(in("relative/b"), in("absolute"));
  EXPECT_EQ(find_entry(in("absolute/c"), Strangers::kNothing)->directory, in("a/b"));
  EXPECT_EQ(find_entry(in("absolute"), Strangers::kNothing)->name, "absolute");
  EXPECT_EQ(find_entry(in("absolute"), Strangers::kNothing, LastLink::kFollow)->directory, in("a/b"));
  fs::create_symlink("loop", in("loop"));
  EXPECT_EQ(code_of(in("loop/c"), Strangers::kNothing), ELOOP);
}

TEST_F(TrustedPath, AFolderThatOthersMayWriteIsNotOurs) {
  fs::permissions(in("a"), fs::perms::all);
  EXPECT_EQ(code_of(in("a/b/c"), Strangers::kNothing), EPERM);
  EXPECT_EQ(code_of(in("a/b/c"), Strangers::kMayWrite), 0);
  fs::permissions(in("a"), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(code_of(in("a/b/c"), Strangers::kNothing), 0);
  fs::permissions(in("a"), fs::perms::all);
  fs::create_symlink("b", in("a/link"));
  EXPECT_EQ(code_of(in("a/link/c"), Strangers::kMayWrite), ELOOP) << "another could have moved it there";
}

TEST_F(TrustedPath, MakesFolders) {
  ASSERT_TRUE(open_folder_at(in("x/y"), Strangers::kNothing, 0700));
  struct stat status = {};
  ASSERT_EQ(stat(in("x/y").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  EXPECT_FALSE(open_folder_at(in("z"), Strangers::kNothing));
  std::ofstream(in("file")) << "x";
  EXPECT_FALSE(open_folder_at(in("file"), Strangers::kNothing, 0700));
}

TEST_F(TrustedPathAsRoot, AFolderOfAnotherIsNotOurs) {
  give_away(in("a"));
  EXPECT_EQ(code_of(in("a/b/c"), Strangers::kNothing), EPERM);
  EXPECT_EQ(code_of(in("a/b/c"), Strangers::kMayWrite), 0);
  const FoundEntry place = find_entry(in("a/b/c"), Strangers::kNothing);
  EXPECT_THAT(cannot("write", in("a/b/c"), place.error()).value().text,
              HasSubstr("user 60001 can change it"));
}

TEST_F(TrustedPathAsRoot, NoLinkOfAnotherIsFollowed) {
  std::ofstream(in("secret")) << "secret";
  fs::create_symlink("../secret", in("a/link"));
  fs::create_symlink("a", in("to-a"));
  give_away(in("a/link"));
  give_away(in("to-a"));
  EXPECT_EQ(code_of(in("a/link"), Strangers::kMayWrite, LastLink::kFollow), ELOOP);
  EXPECT_EQ(code_of(in("to-a/b"), Strangers::kMayWrite), ELOOP);
  EXPECT_EQ(code_of(in("to-a/b"), Strangers::kNothing), ELOOP);
  EXPECT_THAT(read_file(in("a/link")).error().text, HasSubstr("is a link that another user may have made"));
  EXPECT_FALSE(write_file(in("a/link"), "new"));
  EXPECT_EQ(*read_file(in("secret")), "secret");
}

// The folder's owner swaps it for a link between the walk and the use.
TEST_F(TrustedPathAsRoot, WhatWasCheckedIsWhatIsUsed) {
  fs::create_directories(in("victim"));
  give_away(in("a"));
  give_away(in("a/b"));
  const FoundEntry place = find_entry(in("a/b/c"), Strangers::kMayWrite);
  ASSERT_TRUE(place);
  fs::rename(in("a/b"), in("a/was"));
  fs::create_symlink("../victim", in("a/b"));
  EXPECT_TRUE(place->open(O_WRONLY | O_CREAT | O_EXCL, 0600));
  EXPECT_TRUE(fs::is_empty(in("victim")));
  EXPECT_TRUE(fs::exists(in("a/was/c")));
}

TEST_F(TrustedPathAsRoot, ReportsAllThatOthersMayChange) {
  give_away(in("a/b"));
  fs::create_symlink(in("a"), in("link"));
  give_away(in("link"));
  std::vector<std::string> changeable;
  EXPECT_EQ(walk_to_end(in("link/b"), [&](const std::string& one) { changeable.push_back(one); }), in("a/b"));
  EXPECT_THAT(changeable, ElementsAre(in("link"), in("a/b")));
}

}  // namespace
}  // namespace railbed

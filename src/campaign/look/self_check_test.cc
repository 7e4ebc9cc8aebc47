#include "campaign/look/self_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.h"
#include "base/version.h"
#include "host/open.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A folder like `/` with an installed railbed, which is this test.
class SelfCheckTest : public testing::Test {
 protected:
  SelfCheckTest() {
    fs::create_directories(root_ / "bin");
    fs::copy("/proc/self/exe", root_ / "bin/railbed");
  }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  // Checks a machine that has no part except `there`.
  Result<SelfCheck> check(const std::string& there = "") {
    const auto host = open_folder(root_);
    const auto library = [&](const std::vector<std::string>& files) -> Reading<std::string> {
      if (files.front() == there) return {"/lib/" + there, there};
      return {Miss{Missing::kAbsent, "no such file"}, files.front()};
    };
    const auto program = [&](const std::string& name) { return name == there ? "/bin/" + name : ""; };
    return check_self(**host, root_ / "bin/railbed", {library, program});
  }

  TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
};

TEST_F(SelfCheckTest, SaysWhatItIs) {
  const auto found = check();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->railbed, railbed_version());
  EXPECT_THAT(found->self.architecture, AnyOf("x86_64", "aarch64"));
  EXPECT_EQ(found->self.bytes, fs::file_size("/proc/self/exe"));
  EXPECT_EQ(found->self.sha256.size(), 64);
  EXPECT_THAT(found->agents, IsEmpty());
}

TEST_F(SelfCheckTest, WhatIsNotHereSaysWhatIsMissingThen) {
  const auto found = check();
  ASSERT_TRUE(found);
  for (const auto& parts : {found->libraries, found->programs})
    EXPECT_THAT(parts, Each(AllOf(Field(&Part::found, ""), Field(&Part::without, Not("")),
                                  Field(&Part::package, Not("")))));
  EXPECT_EQ(found->libraries.front().why_not, "no such file");
  // A machine does not need parts for hardware that it does not have.
  EXPECT_EQ(exit_code(*found), kExitClean);
}

TEST_F(SelfCheckTest, FindsLibrariesAndPrograms) {
  EXPECT_THAT(check("libibverbs.so.1")->libraries,
              Contains(Field(&Part::found, "/lib/libibverbs.so.1")).Times(1));
  EXPECT_THAT(check("fio")->programs,
              Contains(AllOf(Field(&Part::name, "fio"), Field(&Part::found, "/bin/fio"))));
}

TEST_F(SelfCheckTest, LibraryOfHardwareThatIsHereIsMissed) {
  put("sys/class/infiniband/mlx5_0/node_type", "1: CA");
  EXPECT_EQ(exit_code(*check()), kExitWarnings);
  EXPECT_EQ(exit_code(*check("libibverbs.so.1")), kExitClean);
  put("proc/driver/nvidia/gpus/0000:1b:00.0/information", "Model: NVIDIA H100");
  EXPECT_EQ(exit_code(*check("libibverbs.so.1")), kExitWarnings);
}

TEST_F(SelfCheckTest, InstalledAgentOfTheWrongKindIsAFailure) {
  const std::string other = check()->self.architecture == "x86_64" ? "aarch64" : "x86_64";
  put("lib/railbed/agents/" + other + "/railbed", "no program");
  const auto found = check();
  ASSERT_EQ(found->agents.size(), 1);
  EXPECT_EQ(found->agents[0].architecture, other);
  EXPECT_THAT(found->agents[0].problem, HasSubstr("no program for " + other));
  EXPECT_EQ(exit_code(*found), kExitFailures);
}

TEST_F(SelfCheckTest, ProgramThatCannotBeReadIsAnError) {
  fs::remove(root_ / "bin/railbed");
  EXPECT_FALSE(check());
}

TEST(PartFinder, OpensWhatTheLoaderFinds) {
  const PartFinder finder = part_finder();
  const auto found = finder.library({"libc.so.6"});
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(*found, AllOf(StartsWith("/"), HasSubstr("libc.so.6")));
  EXPECT_TRUE(finder.library({"libno-such-library.so.1"}).absent());
  EXPECT_THAT(finder.program("sh"), EndsWith("/sh"));
  EXPECT_EQ(finder.program("no-such-program"), "");
}

}  // namespace
}  // namespace railbed

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "host/open.h"
#include "os/process.h"

namespace railbed {
namespace {

namespace fs = std::filesystem;

class FolderHostTest : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
};

TEST_F(FolderHostTest, KeepsEveryLinkInside) {
  put("etc/os-release", "ID=inside\n");
  fs::create_directories(root_ / "sys/class");
  fs::create_symlink("/etc/os-release", root_ / "sys/absolute");
  fs::create_symlink("../../../../../../../../../../etc/os-release", root_ / "sys/class/relative");
  fs::create_symlink("/proc/self/root/etc/os-release", root_ / "sys/magic");
  auto host = open_folder(root_.string());
  ASSERT_TRUE(host) << host.error().text;
  EXPECT_EQ((*host)->read_line("/sys/absolute").value(), "ID=inside");
  EXPECT_EQ((*host)->read_line("/sys/class/relative").value(), "ID=inside");
  EXPECT_EQ((*host)->read_line("/../../etc/os-release").value(), "ID=inside");
  EXPECT_TRUE((*host)->read("/sys/magic").absent());
  EXPECT_EQ((*host)->resolve("/sys/absolute").value(), "/etc/os-release");
  EXPECT_EQ((*host)->resolve("/").value(), "/");
}

TEST_F(FolderHostTest, SaysWhyThereIsNothing) {
  put("file", "0123456789");
  auto host = open_folder(root_.string());
  ASSERT_TRUE(host);
  EXPECT_TRUE((*host)->read("/none").absent());
  EXPECT_TRUE((*host)->list("/none").absent());
  EXPECT_EQ((*host)->read("/").miss().why, "Is a directory");
  EXPECT_EQ((*host)->read("/file", 4).value(), "0123");
  ASSERT_EQ(mkfifo((root_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ((*host)->read("/fifo").miss().missing, Missing::kUnsupported);
  EXPECT_TRUE((*host)->run({"true"}).absent());
  EXPECT_TRUE((*host)->call("uname").absent());
}

TEST_F(FolderHostTest, OpensWhateverItIs) {
  put("one/gpu01.tree", "railbed-tree 1\n/etc/hostname = gpu01\n");
  put("two/b.tree", "railbed-tree 1\nbase: ../one/gpu01.tree\n");
  put("two/a.tree", "railbed-tree 1\n");
  put("machine/etc/hostname", "folder\n");
  const auto both = open_nodes((root_ / "two").string());
  ASSERT_TRUE(both) << both.error().text;
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[0].node, "a");
  EXPECT_EQ((*both)[1].host->read_line("/etc/hostname").value(), "gpu01");
  EXPECT_FALSE(open_root((root_ / "two").string()));
  EXPECT_EQ((*open_root((root_ / "one").string()))->read_line("/etc/hostname").value(), "gpu01");
  EXPECT_EQ((*open_root((root_ / "machine").string()))->read_line("/etc/hostname").value(), "folder");
  EXPECT_EQ(open_nodes((root_ / "machine").string())->front().node, "machine");
  EXPECT_FALSE(open_root((root_ / "none").string()));
}

TEST_F(FolderHostTest, RefusesLongAndOutsideBases) {
  put("t0.tree", "railbed-tree 1\n");
  for (int i = 1; i <= 6; ++i)
    put("t" + std::to_string(i) + ".tree", "railbed-tree 1\nbase: t" + std::to_string(i - 1) + ".tree\n");
  EXPECT_TRUE(open_root((root_ / "t4.tree").string()));
  EXPECT_FALSE(open_root((root_ / "t5.tree").string()));
  put("self.tree", "railbed-tree 1\nbase: self.tree\n");
  EXPECT_FALSE(open_root((root_ / "self.tree").string()));
  put("shadow.tree", "railbed-tree 1\nbase: /etc/shadow\n");
  const auto outside = open_root((root_ / "shadow.tree").string());
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().text.find("shadow.tree:2: base: expected a path relative"), std::string::npos);
}

TEST(ThisMachine, AnswersFromTheKernel) {
  const auto host = open_this_machine();
  EXPECT_FALSE(host->read_line("/proc/sys/kernel/osrelease").value().empty());
  EXPECT_EQ(host->resolve("/proc/self").value(), "/proc/" + std::to_string(getpid()));
  EXPECT_NE(host->call("uname").value().find("machine"), std::string::npos);
  EXPECT_NE(host->call("statvfs /").value().find("available"), std::string::npos);
  EXPECT_FALSE(host->call("statvfs /none/at/all").ok());
  EXPECT_FALSE(host->call("nonsense").ok());
}

TEST(ThisMachine, ShowsOnlyTheVariablesAskedFor) {
  ASSERT_EQ(setenv("NCCL_RAILBED_TEST", "1", 1), 0);
  ASSERT_EQ(setenv("RAILBED_SECRET", "x", 1), 0);
  const auto host = open_this_machine();
  const auto answer = host->call("environment NCCL");
  EXPECT_NE(answer.value().find("NCCL_RAILBED_TEST"), std::string::npos);
  EXPECT_EQ(answer.value().find("RAILBED_SECRET"), std::string::npos);
  EXPECT_FALSE(host->call("environment ").ok());
}

TEST(Process, RunsWithoutAShell) {
  const auto out = run_program({"printf", "%s", "$HOME;*"}, std::chrono::seconds(20));
  ASSERT_TRUE(out) << out.miss().why;
  EXPECT_EQ(out->output, "$HOME;*");
  const auto failed = run_program({"sh", "-c", "echo no >&2; exit 3"}, std::chrono::seconds(20));
  EXPECT_EQ(failed->exit_code, 3);
  EXPECT_EQ(failed->error_output, "no\n");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, std::chrono::seconds(20))->exit_code, 137);
  EXPECT_TRUE(run_program({"no-such-program-here"}, std::chrono::seconds(1)).absent());
  EXPECT_EQ(run_program({"sh", "-c", "echo $LC_ALL; cat"}, std::chrono::seconds(20))->output, "C\n");
}

TEST(Process, EndsWhatDoesNotEnd) {
  EXPECT_EQ(run_program({"sleep", "1000"}, std::chrono::milliseconds(50)).miss().missing, Missing::kTimeout);
  EXPECT_EQ(run_program({"yes"}, std::chrono::seconds(20)).miss().missing, Missing::kGarbled);
}

TEST(Process, EndsOnRequest) {
  std::stop_source stop;
  std::jthread later([&] {
    usleep(50'000);
    stop.request_stop();
  });
  EXPECT_EQ(run_program({"sleep", "1000"}, std::chrono::seconds(900), stop.get_token())->exit_code, 137);
}

TEST(Process, KillsTheWholeGroup) {
  const auto out = run_program({"sh", "-c", "sleep 1000 & echo $!"}, std::chrono::seconds(20));
  ASSERT_TRUE(out) << out.miss().why;
  // A zombie child of init may remain for a moment: the test is that nothing sleeps on.
  const std::string pid = out->output.substr(0, out->output.find('\n'));
  for (int i = 0; i < 1000; ++i) {
    std::ifstream status("/proc/" + pid + "/stat");
    std::string line;
    if (!std::getline(status, line) || line.find(") Z") != std::string::npos) return;
    usleep(10'000);
  }
  FAIL() << pid << " still runs";
}

TEST(Process, AHangingOrCrashingLibraryIsOnlyAMiss) {
  EXPECT_EQ(ask_in_child(
                "t", [](const Say&) { return std::string("{}"); }, std::chrono::seconds(20))
                .value(),
            "{}");
  const auto hang = ask_in_child(
      "t", [](const Say&) { return pause(), std::string(); }, std::chrono::milliseconds(50));
  EXPECT_EQ(hang.miss().missing, Missing::kTimeout);
  const auto crash = ask_in_child(
      "t", [](const Say&) { return _exit(9), std::string(); }, std::chrono::seconds(20));
  EXPECT_EQ(crash.miss().missing, Missing::kGarbled);
}

}  // namespace
}  // namespace railbed

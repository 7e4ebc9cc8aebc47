#include "os/confined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace railbed {
namespace {

using testing::HasSubstr;
using testing::Not;

ConfinedJob shell(const std::string& script, int timeout = 20) { return {{"sh", "-c", script}, "", timeout}; }

std::string printed(const Reading<ConfinedOutput>& output) {
  std::string text;
  for (const std::string& line : output->output) text += line + '\n';
  return text;
}

TEST(Confined, ReturnsCodeAndWhatBothStreamsPrinted) {
  const auto output = run_confined(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(printed(output), "out\nerr\n");
  EXPECT_FALSE(output->cut);
}

TEST(Confined, PassesWordsWithoutAShell) {
  const auto output = run_confined({{"printf", "[%s]", "$HOME", "a b", ";id"}, "", 20});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(printed(output), "[$HOME][a b][;id]\n");
}

TEST(Confined, GivesNothingOfItsOwnSurroundings) {
  setenv("RAILBED_TEST_SECRET", "s3cret", 1);
  const auto output = run_confined(
      shell("env; pwd; ls /proc/self/fd | wc -l; readlink /proc/self/fd/0; cat; ulimit -c; ulimit -f; umask; "
            "test $(ps -o sid= -p $$) -ne " +
            std::to_string(getsid(0)) + " && echo session of its own"));
  unsetenv("RAILBED_TEST_SECRET");
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(printed(output), Not(HasSubstr("s3cret")));
  EXPECT_THAT(printed(output), HasSubstr("HOME=/\n"));
  EXPECT_THAT(printed(output), HasSubstr("\n/\n"));
  EXPECT_THAT(printed(output),
              HasSubstr("\n4\n/dev/null\n0\n131072\n0077\n"));  // ls has the folder open, too
  EXPECT_THAT(printed(output), HasSubstr("session of its own"));
}

TEST(Confined, IsNobodyInPlaceOfRootAndGainsNoRights) {
  const auto output = run_confined(shell("id -u; id -G; grep NoNewPrivs /proc/self/status"));
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(printed(output), HasSubstr("NoNewPrivs: 1"));
  if (geteuid() != 0) return;
  EXPECT_EQ(output->output.at(0), "65534");
  EXPECT_EQ(output->account, "nobody");
  EXPECT_EQ(output->output.at(1), "65534");
}

TEST(Confined, IsAnotherUserOnlyIfRootWithoutSudoAsks) {
  ConfinedJob job = shell("id -un");
  job.user = "root";
  if (geteuid() != 0) {
    EXPECT_EQ(run_confined(job).miss().missing, Missing::kDenied);
    return;
  }
  const auto as_root = run_confined(job);
  ASSERT_TRUE(as_root.ok());
  EXPECT_EQ(printed(as_root), "root\n");
  job.user = "no-such-user";
  EXPECT_EQ(run_confined(job).miss().why, "there is no user no-such-user");
  setenv("SUDO_UID", "12345", 1);
  job.user = "root";
  const auto by_sudo = run_confined(job);
  const auto ordinary = run_confined(shell("id -u"));
  unsetenv("SUDO_UID");
  ASSERT_FALSE(by_sudo.ok());
  EXPECT_THAT(by_sudo.miss().why, HasSubstr("by sudo"));
  ASSERT_TRUE(ordinary.ok());
  EXPECT_EQ(printed(ordinary), "12345\n");
}

TEST(Confined, RootRunsNoProgramThatOthersCanChange) {
  if (geteuid() != 0) GTEST_SKIP() << "only root is careful";
  const std::string folder = testing::TempDir() + "confined-open";
  std::filesystem::create_directory(folder);
  const std::string program = folder + "/check";
  std::ofstream(program) << "#!/bin/sh\necho ran\n";
  std::filesystem::permissions(program, std::filesystem::perms(0777));
  const auto output = run_confined({{program}, "root", 10});
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.miss().missing, Missing::kDenied);
  EXPECT_THAT(output.miss().why, HasSubstr("another user can change"));
}

TEST(Confined, EndsAllThatRunsAtTheTimeout) {
  const auto output = run_confined(shell("echo begun $$; trap '' TERM; setsid sleep 1000 & sleep 1000", 1));
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.miss().missing, Missing::kTimeout);
  EXPECT_THAT(output.miss().why, HasSubstr("it was ended after 1 s; it printed: begun "));
  const auto pid = parse_number<pid_t>(output.miss().why.substr(output.miss().why.rfind(' ') + 1));
  ASSERT_TRUE(pid);
  EXPECT_EQ(kill(*pid, 0), -1);
}

TEST(Confined, EndsWhatItLeavesBehind) {
  const auto output = run_confined(shell("setsid sleep 1000 & echo $!"));
  ASSERT_TRUE(output.ok());
  const auto pid = parse_number<pid_t>(output->output.at(0));
  ASSERT_TRUE(pid);
  EXPECT_EQ(kill(*pid, 0), -1);
}

TEST(Confined, KeepsLittleOfALongOutputAndCleansIt) {
  const auto output = run_confined(shell(
      "printf '\\033[31mred\\n'; i=0; while [ $i -lt 2000 ]; do printf '\\303\\244bc\\n'; i=$((i+1)); done"));
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->cut);
  EXPECT_EQ(output->output.size(), 256U);
  EXPECT_EQ(output->output[1], "äbc");
  EXPECT_EQ(printed(output).find('\033'), std::string::npos);
  const auto one_line = run_confined(shell("head -c 100000 /dev/zero | tr '\\0' x"));
  ASSERT_TRUE(one_line.ok());
  EXPECT_TRUE(one_line->cut);
  EXPECT_EQ(printed(one_line).size(), kConfinedOutput + 1);
  const auto endless = run_confined(shell("exec cat /dev/zero"));
  ASSERT_FALSE(endless.ok());
  EXPECT_THAT(endless.miss().why, HasSubstr("it printed over 4 MiB"));
}

TEST(Confined, LimitsFilesAndMemory) {
  const auto output = run_confined(shell(
      "ulimit -d; f=$(mktemp) || exit 9; dd if=/dev/zero of=$f bs=1M count=100 2>&1; wc -c <$f; rm $f"));
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(printed(output), HasSubstr("4194304\n"));
  EXPECT_THAT(printed(output), HasSubstr("67108864"));
}

TEST(Confined, NamesWhatDoesNotStart) {
  EXPECT_EQ(run_confined({{"railbed-no-such-program"}, "", 5}).miss().missing, Missing::kAbsent);
  EXPECT_EQ(run_confined({{"/no/such/program"}, "", 5}).miss().missing, Missing::kAbsent);
  EXPECT_EQ(run_confined({{"/etc/passwd"}, "", 5}).miss().missing, Missing::kDenied);
}

TEST(Confined, ReportsTheSignalThatEndedIt) {
  EXPECT_EQ(run_confined(shell("kill -SEGV $$")).value().exit_code, 128 + SIGSEGV);
}

}  // namespace
}  // namespace railbed

// Tests a fleet with its own agents, through a shell script in the place of ssh: it has the same arguments,
// streams and exit codes, and can fail like real nodes. tests/fleet/ has the real ones.
#include "fleet/fleet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "base/sha256.h"
#include "base/testing/temporary_folder.h"
#include "base/text.h"
#include "fleet/agent_binary.h"
#include "fleet/agent_launcher.h"
#include "fleet/bootstrap.h"
#include "fleet/frame.h"
#include "os/host_name.h"

namespace railbed::fleet {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_program(const fs::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  fs::permissions(path, fs::perms::owner_all);
}

class FleetTest : public testing::Test {
 protected:
  FleetTest() {
    fs::create_directories(root_ / "home");
    fs::create_directories(root_ / "shm");
    fs::create_directories(root_ / "bin");
    write_program(root_ / "bin/dd",
                  "echo pushed >>" + (root_ / "pushes").string() + "\nexec /bin/dd \"$@\"\n");
    options_.binary = RAILBED_TEST_AGENT;
    options_.ssh_program = root_ / "ssh";
    fake_ssh("");
  }

  // `before` runs with $destination and $command set; then the command runs, as in the node's login shell.
  void fake_ssh(const std::string& before) {
    write_program(root_ / "ssh", "root=" + root_.string() + R"sh(
for word; do destination=$command; command=$word; done
HOME=$root/home TMPDIR=$root PATH=$root/bin:$PATH
export HOME TMPDIR PATH
unset XDG_CACHE_HOME
command=$(printf %s "$command" | sed "s#/dev/shm/#$root/shm/#; s#/proc/sys/kernel/arch#$root/arch#")
)sh" + before + "\nexec sh -c \"$command\"\n");
  }
  Fleet one() { return Fleet({{"gpu07", "gpu07.lan", false}}, options_); }
  Result<std::string> ask(const std::string& method, const std::string& params = "{}") {
    Fleet fleet = one();
    return fleet.peer(0).call(method, params, seconds(60), {});
  }
  std::string error_of(const Result<std::string>& result) {
    if (result) return "no error: " + *result;
    if (!result.error().node.empty()) {
      EXPECT_THAT(result.error().text, StartsWith(result.error().node + ": ")) << "named, and named once";
    }
    return result.error().text;
  }
  fs::path agents() const { return root_ / "home/.cache/railbed/agents"; }
  fs::path agent() const { return agents() / sha256_hex(read_file(RAILBED_TEST_AGENT)) / "railbed"; }
  long pushes() const { return std::ranges::count(read_file(root_ / "pushes"), '\n'); }
  static int pid_of(const std::string& hello) {
    return parse_number<int>(hello.substr(7, hello.size() - 8)).value_or(0);
  }
  // Links the tools that the script needs, and no packer.
  void link_few_tools() {
    for (const char* tool :
         {"sh", "uname", "id", "mkdir", "chmod", "df", "rm", "wc", "head", "mv", "ls", "find", "touch"})
      if (fs::exists("/bin/" + std::string(tool)))
        fs::create_symlink("/bin/" + std::string(tool), root_ / "bin" / tool);
  }
  // Runs `happens` instead of reading the third piece of the agent. Call after link_few_tools().
  void second_piece(const std::string& happens) {
    fs::remove(root_ / "bin/head");
    write_program(root_ / "bin/head", "echo >>" + (root_ / "pieces").string() + "; [ $(wc -l <" +
                                          (root_ / "pieces").string() + ") -lt 2 ] || { " + happens +
                                          "; }\nexec /bin/head \"$@\"\n");
  }
  // Waits until the file exists, which shows how far a handler has come.
  static void await(const fs::path& path) {
    while (!fs::exists(path)) std::this_thread::sleep_for(milliseconds(2));
  }

  TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
  FleetOptions options_;
};

TEST(TargetOf, OwnHostNameNeedsNoSsh) {
  const std::string own = host_name();
  const auto target = [](std::string ssh) {
    Node node;
    node.name = "node";
    node.ssh = std::move(ssh);
    return target_of(node);
  };
  EXPECT_TRUE(target(own).local);
  EXPECT_FALSE(target("other@" + own).local);  // another user's login
  EXPECT_FALSE(target(own + "x").local);
  EXPECT_FALSE(target("192.0.2.1").local);
  EXPECT_EQ(target("192.0.2.1").destination, "192.0.2.1");
}

TEST_F(FleetTest, NamesTheClientThatIsMissing) {
  options_.ssh_program = root_ / "no-such-ssh";
  EXPECT_THAT(error_of(ask("hello")), AllOf(StartsWith("gpu07: cannot start "), HasSubstr("openssh-client")));
}

TEST_F(FleetTest, PushesTheAgentOnceAndThenStartsTheCachedOne) {
  EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]");
  EXPECT_EQ(pushes(), 1);
  EXPECT_EQ(read_file(agent()), read_file(RAILBED_TEST_AGENT));
  EXPECT_EQ(fs::status(agents()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(agent()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(error_of(ask("echo", "[2]")), "no error: [2]");
  EXPECT_EQ(pushes(), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(agents()), {}), 1) << "no temporary file stays";
}

TEST_F(FleetTest, PushesWithoutGzipAndChecksumPrograms) {
  link_few_tools();
  fake_ssh("PATH=$root/bin");
  EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]");
  EXPECT_EQ(read_file(agent()), read_file(RAILBED_TEST_AGENT));
}

// Replaces each packer by a program that omits the last byte of its output.
TEST_F(FleetTest, CopyThatIsUnpackedWrongIsRefused) {
  for (const char* packer : {"zstd", "gzip"})
    write_program(root_ / "bin" / packer, "exec /usr/bin/" + std::string(packer) + " \"$@\" | head -c -1\n");
  EXPECT_THAT(error_of(ask("echo", "[1]")), HasSubstr("the copy differs from what was sent"));
  EXPECT_FALSE(fs::exists(agent()));
}

TEST_F(FleetTest, PackerThatFailsIsNoticed) {
  for (const char* packer : {"zstd", "gzip"})
    write_program(root_ / "bin" / packer, "/usr/bin/" + std::string(packer) + " \"$@\"; exit 1\n");
  EXPECT_THAT(error_of(ask("echo", "[1]")), HasSubstr("the copy differs from what was sent"));
}

TEST_F(FleetTest, WorksInOtherShells) {
  int tried = 0;
  for (const char* shell : {"/bin/bash", "/bin/dash", "/bin/busybox", "/usr/bin/busybox"}) {
    if (!fs::exists(shell)) continue;
    ++tried;
    fs::remove_all(agents());
    const bool busybox = std::string_view(shell).ends_with("busybox");
    for (const char* tool : {"sh", "head"}) fs::remove(root_ / "bin" / tool);
    fs::create_symlink(shell, root_ / "bin/sh");
    // Reads 4096 bytes at a time, and so beyond its limit.
    if (busybox) fs::create_symlink(shell, root_ / "bin/head");
    EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]") << shell;
    EXPECT_EQ(error_of(ask("echo", "[2]")), "no error: [2]") << shell;
  }
  EXPECT_GE(tried, 1);
}

TEST_F(FleetTest, ReplacesADamagedAgent) {
  ASSERT_TRUE(ask("hello"));
  std::fstream(agent(), std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('!');
  EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]");
  EXPECT_EQ(pushes(), 2);
  EXPECT_EQ(read_file(agent()), read_file(RAILBED_TEST_AGENT));
}

TEST_F(FleetTest, KeepsThreeAgents) {
  const auto now = fs::file_time_type::clock::now();
  const auto of = [&](char digit) { return agents() / std::string(64, digit); };
  for (const char digit : {'1', '2', '3', '4'}) {
    fs::create_directories(of(digit));
    std::ofstream(of(digit) / "used");
    fs::last_write_time(of(digit) / "used", now - std::chrono::hours(digit - '0'));
  }
  fs::create_directories(of('5'));  // was never used completely
  fs::create_directories(agents() / "not-ours");
  ASSERT_TRUE(ask("hello"));
  EXPECT_TRUE(fs::exists(agent()));
  EXPECT_TRUE(fs::exists(of('1')) && fs::exists(of('2'))) << "used last";
  EXPECT_EQ(std::distance(fs::directory_iterator(agents()), {}), 4) << "three agents, and what is not one";
}

TEST_F(FleetTest, UsesNoDirectoryThatIsALink) {
  fs::create_directories(root_ / "trap");
  fs::create_directories(root_ / "home/.cache");
  fs::create_symlink(root_ / "trap", root_ / "home/.cache/railbed");
  write_program(root_ / "bin/df", "echo; echo d 1 1 0 1% /\n");
  EXPECT_THAT(error_of(ask("hello")), HasSubstr("not a directory of our own"));
  EXPECT_TRUE(fs::is_empty(root_ / "trap")) << "it is looked at before anything is made in it";
}

TEST_F(FleetTest, ToleratesGreetings) {
  fake_ssh("echo Welcome to $destination; echo 'railbed:0: push nonsense'");
  EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]");
}

TEST_F(FleetTest, HangingShellIsNamedAndItsProcessEnded) {
  fake_ssh("echo $$ >$root/pid; echo 'Enter new password:'; exec sleep 1000");
  options_.start_deadline = seconds(4);  // a busy machine needs time to start a shell
  const auto answer = ask("hello");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(answer.error().text, AllOf(StartsWith("gpu07: no answer"), HasSubstr("Enter new password:")));
  EXPECT_EQ(kill(parse_number<int>(read_file(root_ / "pid")).value(), 0), -1);
}

TEST_F(FleetTest, EndlessNonsenseIsQuotedInPart) {
  fake_ssh("exec yes \"$(printf 'Router\\007 >')\"");
  EXPECT_THAT(error_of(ask("hello")), AllOf(HasSubstr("gpu07: not a frame"), HasSubstr("Router? >")));
}

TEST_F(FleetTest, ShortNonsenseIsQuoted) {
  fake_ssh("echo Invalid command; exit 1");
  EXPECT_THAT(error_of(ask("hello")),
              AllOf(HasSubstr("gpu07: ended with status 1"), HasSubstr("Invalid command")));
}

TEST_F(FleetTest, SshsOwnReasonIsTold) {
  fake_ssh("echo \"ssh: connect to host $destination port 22: Connection refused\" >&2; exit 255");
  EXPECT_THAT(error_of(ask("hello")),
              AllOf(StartsWith("gpu07: gpu07.lan refused the connection"), HasSubstr("start sshd")));
}

TEST_F(FleetTest, OverloadedServerIsTriedAgain) {
  fake_ssh(
      "echo >>$root/tries; [ $(wc -l <$root/tries) -ge 2 ] || {\n"
      "echo 'kex_exchange_identification: Connection closed by remote host' >&2; exit 255; }");
  EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]");
}

TEST_F(FleetTest, FullHomeFallsBackToTheNextDirectory) {
  write_program(
      root_ / "bin/df",
      "case $2 in */home/*) echo; echo tmpfs 10 10 0 100% /home ;; *) exec /bin/df \"$@\" ;; esac\n");
  EXPECT_EQ(error_of(ask("echo", "[1]")), "no error: [1]");
  EXPECT_FALSE(fs::exists(agent()));
  EXPECT_FALSE(fs::is_empty(root_ / "shm"));
}

TEST_F(FleetTest, NodeWithoutSpaceAnywhereIsNamed) {
  write_program(root_ / "bin/df", "echo; echo tmpfs 10 10 0 100% /\n");
  EXPECT_THAT(error_of(ask("hello")), AllOf(StartsWith("gpu07: no space left"), HasSubstr("0 KiB free")));
}

TEST_F(FleetTest, DiskThatFillsUpWhileCopyingIsNamedAndLeavesNothing) {
  write_program(root_ / "bin/dd", "echo \"dd: error writing 'x': No space left on device\" >&2; exit 1\n");
  EXPECT_THAT(error_of(ask("hello")), StartsWith("gpu07: no space left for the agent"));
  EXPECT_TRUE(fs::is_empty(agents()));
}

TEST_F(FleetTest, DiskThatFillsUpInALaterPieceIsNamedAndLeavesNothing) {
  link_few_tools();
  fake_ssh("PATH=$root/bin");
  second_piece("echo \"head: write error: No space left on device\" >&2; exit 1");
  EXPECT_THAT(error_of(ask("hello")), StartsWith("gpu07: no space left for the agent"));
  EXPECT_TRUE(fs::is_empty(agents()));
}

TEST_F(FleetTest, CopyThatHangsIsNamedWithHowFarItCame) {
  link_few_tools();
  fake_ssh("PATH=$root/bin; echo Welcome");
  second_piece("exec /bin/sleep 1000");
  options_.push_deadline = seconds(2);
  EXPECT_THAT(error_of(ask("hello")), AllOf(HasSubstr("within 2 s while copying the agent (1024 of "),
                                            HasSubstr(" KiB sent); it said \"Welcome\"")));
}

TEST_F(FleetTest, CopyThatIsCutOffLeavesNothing) {
  link_few_tools();
  for (const char* path : {"", "PATH=$root/bin\n"}) {
    // Ten reads end at most just after the first piece.
    fake_ssh(path + std::string("/bin/dd bs=65536 count=10 2>/dev/null | sh -c \"$command\"; exit 255"));
    EXPECT_THAT(error_of(ask("hello")), AnyOf(HasSubstr("the copy differs from what was sent"),
                                              HasSubstr("unexpected end"), HasSubstr("premature end")));
    EXPECT_TRUE(fs::is_empty(agents()));
  }
}

// Returns what arrives at a node that requests the agent like the script, then runs `says`: the first line,
// and the number of bytes after it.
class FleetTakerTest : public FleetTest {
 protected:
  std::pair<std::string, std::size_t> taken(const std::string& says) {
    fake_ssh(R"sh(
nonce=$(printf %s "$command" | sed -n 's/.*echo "railbed:\([0-9a-f]*\):.*/\1/p')
say() { echo "railbed:$nonce: $*"; }
say push $(uname -m)
read -r line; echo "$line" >$root/taken
)sh" + says + "\nexec cat 3>&1 >>$root/taken");
    options_.push_deadline = seconds(2);
    EXPECT_THAT(error_of(ask("hello")), HasSubstr("no answer within 2 s while copying the agent"));
    const std::string all = read_file(root_ / "taken");
    const std::size_t line = all.find('\n') + 1;
    return {all.substr(0, line), all.size() - line};
  }
  const std::size_t size_ = fs::file_size(RAILBED_TEST_AGENT);
  const std::string line_ = fmt::format("{} raw\n", size_);
};

TEST_F(FleetTakerTest, GetsOnePieceUntilItHasTakenIt) {
  EXPECT_EQ(taken(""), (std::pair{line_, kPiece}));
  EXPECT_EQ(taken("say push $(uname -m) gzip; say more"), (std::pair{line_, 2 * kPiece}));
}

TEST_F(FleetTakerTest, GetsNothingTwice) {
  const std::size_t more_than_there_are = size_ / kPiece + 4;
  EXPECT_EQ(taken(fmt::format("for x in $(seq {}); do say more; done", more_than_there_are)),
            (std::pair{line_, size_}));
}

TEST_F(FleetTest, MoreOfNothingIsRefused) {
  fake_ssh("printf %s \"$command\" | sed -n 's/.*echo \"\\(railbed:[0-9a-f]*:\\).*/\\1 more/p'; exec cat");
  EXPECT_THAT(error_of(ask("hello")), HasSubstr("the agent could not be copied"));
}

TEST_F(FleetTest, OtherArchitectureIsNamedWithTheOption) {
  write_program(root_ / "bin/uname", "echo riscv64\n");
  EXPECT_THAT(error_of(ask("hello")),
              AllOf(StartsWith("gpu07: it is riscv64"), HasSubstr("--agent-binary riscv64=PATH")));
}

// The agent of this test with the header of another architecture.
struct ForeignAgent {
  bool arm = elf_architecture(read_file(RAILBED_TEST_AGENT)) == "aarch64";
  std::string architecture = arm ? "x86_64" : "aarch64";
  std::string bytes = [this] {
    std::string all = read_file(RAILBED_TEST_AGENT);
    all[18] = static_cast<char>(arm ? 62 : 183);  // e_machine
    return all;
  }();
};

TEST_F(FleetTest, OtherArchitectureGetsTheBinaryGivenForIt) {
  const ForeignAgent foreign;
  const std::string &architecture = foreign.architecture, &other = foreign.bytes;
  std::ofstream(root_ / "other", std::ios::binary) << other;
  write_program(root_ / "bin/uname", "echo " + architecture + "\n");
  options_.agent_binaries = {{architecture, root_ / "other"}};
  // It is copied, but cannot start, because it is not a program for this machine.
  EXPECT_THAT(error_of(ask("hello")),
              AllOf(StartsWith("gpu07: it cannot run the agent"), HasSubstr("Exec format error")));
  EXPECT_EQ(read_file(agents() / sha256_hex(other) / "railbed"), other);
  options_.agent_binaries = {{"riscv64", root_ / "other"}};
  EXPECT_THAT(error_of(ask("hello")), HasSubstr("built for " + architecture + ", not for riscv64"));
}

TEST_F(FleetTest, OtherArchitectureGetsTheAgentOfThePackage) {
  const ForeignAgent foreign;
  const fs::path folder = root_ / "usr/lib/railbed/agents" / foreign.architecture;
  fs::create_directories(folder);
  fs::create_directories(root_ / "usr/bin");
  fs::copy(RAILBED_TEST_AGENT, root_ / "usr/bin/railbed");
  std::ofstream(folder / "railbed", std::ios::binary) << foreign.bytes;
  options_.binary = root_ / "usr/bin/railbed";
  EXPECT_THAT(error_of(ask("echo", "[1]")), StartsWith("no error"));
  std::ofstream(root_ / "arch") << foreign.architecture << "\n";
  EXPECT_THAT(error_of(ask("hello")), HasSubstr("Exec format error"));
  EXPECT_EQ(read_file(agents() / sha256_hex(foreign.bytes) / "railbed"), foreign.bytes);
}

TEST_F(FleetTest, InstalledAgentsAreThoseOfOtherArchitecturesBesideBin) {
  for (const std::string architecture : {"aarch64", "x86_64", "riscv64"}) {
    fs::create_directories(root_ / "lib/railbed/agents" / architecture);
    std::ofstream(root_ / "lib/railbed/agents" / architecture / "railbed") << "an agent";
  }
  const std::string arm = root_ / "lib/railbed/agents/aarch64/railbed";
  std::ofstream(root_ / "bin/railbed") << "a controller";
  EXPECT_THAT(installed_agents(root_ / "bin/railbed", "x86_64"), ElementsAre(std::pair("aarch64", arm)));
  EXPECT_THAT(installed_agents(root_ / "bin/gone", "x86_64"), ElementsAre());
  fs::create_directories(root_ / "here");
  std::ofstream(root_ / "here/railbed") << "a controller";
  EXPECT_THAT(installed_agents(root_ / "here/railbed", "x86_64"), ElementsAre());
  if (getuid() != 0) return;
  ASSERT_EQ(chown(arm.c_str(), 12345, 12345), 0);
  EXPECT_THAT(installed_agents(root_ / "bin/railbed", "x86_64"), ElementsAre());
}

TEST_F(FleetTest, HugeFrameEndsTheSession) {
  const std::string header = std::string("\0RBF\1\3\0\0\0\0\0\1\x7f\xff\xff\xff", 16);
  EXPECT_THAT(error_of(ask("write_raw", header)),
              AllOf(StartsWith("gpu07: "), HasSubstr("more than the limit")));
}

TEST_F(FleetTest, AgentThatDiesInMidCallIsNamedWithItsLastWords) {
  Fleet fleet = one();
  const auto answer = fleet.peer(0).call("die", "{}", seconds(60), {});
  EXPECT_THAT(error_of(answer),
              AllOf(StartsWith("gpu07: ended with status 9"), HasSubstr("out of memory, sorry")));
  EXPECT_EQ(error_of(fleet.peer(0).call("hello", "{}", seconds(60), {})), error_of(answer))
      << "told again, not tried again";
}

TEST_F(FleetTest, CallThatTakesTooLongIsCancelledAndTheNextOneServed) {
  Fleet fleet = one();
  ASSERT_TRUE(fleet.peer(0).call("hello", "{}", seconds(60), {}));
  const auto late = fleet.peer(0).call("wait_for_stop", (root_ / "a").string() + " " + (root_ / "b").string(),
                                       milliseconds(200), {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(late.error().text, HasSubstr("gpu07: no answer to \"wait_for_stop\" within 0.2 s"));
  EXPECT_EQ(late.error().node, "gpu07");
  await(root_ / "b");  // the handler was cancelled
  EXPECT_EQ(error_of(fleet.peer(0).call("echo", "[1]", seconds(60), {})), "no error: [1]");
}

TEST_F(FleetTest, StopCancelsTheCallAtBothEnds) {
  Fleet fleet = one();
  std::stop_source stop;
  std::jthread other([&] {
    await(root_ / "a");
    stop.request_stop();
  });
  const auto answer = fleet.peer(0).call(
      "wait_for_stop", (root_ / "a").string() + " " + (root_ / "b").string(), seconds(60), stop.get_token());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kCancelled);
  await(root_ / "b");
}

TEST_F(FleetTest, EndOfTheFleetEndsEvenAStubbornAgent) {
  int pid = 0;
  {
    Fleet fleet = one();
    const auto hello = fleet.peer(0).call("hello", "{}", seconds(60), {});
    ASSERT_TRUE(hello) << hello.error().text;
    pid = pid_of(*hello);
    EXPECT_FALSE(fleet.peer(0).call("never_end", "{}", milliseconds(50), {}));
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(FleetTest, EndOfTheFleetWhileConnectingLeavesNothing) {
  fake_ssh("echo $$ >$root/pid.new; mv $root/pid.new $root/pid; exec sleep 1000");
  {
    Fleet fleet = one();
    std::stop_source stop;
    std::jthread other([&] {
      await(root_ / "pid");
      stop.request_stop();
    });
    EXPECT_EQ(fleet.peer(0).call("hello", "{}", seconds(60), stop.get_token()).error().kind,
              ErrorKind::kCancelled);
  }
  EXPECT_EQ(kill(parse_number<int>(read_file(root_ / "pid")).value(), 0), -1);
}

TEST_F(FleetTest, CallsOverlap) {
  Fleet fleet = one();
  std::jthread slow([&] {
    EXPECT_FALSE(fleet.peer(0).call("wait_for_stop", (root_ / "a").string(), milliseconds(1000), {}));
  });
  await(root_ / "a");
  EXPECT_EQ(error_of(fleet.peer(0).call("echo", "[1]", seconds(60), {})), "no error: [1]");
}

TEST_F(FleetTest, LocalAgentNeedsNoSsh) {
  fake_ssh("exit 255");
  Fleet fleet({{"here", "", true}}, options_);
  EXPECT_EQ(error_of(fleet.peer(0).call("echo", "[1]", seconds(60), {})), "no error: [1]");
  // Output of a handler does not reach the frames, and its reads do not consume them.
  EXPECT_EQ(error_of(fleet.peer(0).call("chatter", "", seconds(60), {})), "no error: {\"stdin\":-1}");
  EXPECT_EQ(error_of(fleet.peer(0).call("refuse", "", seconds(60), {})), "here: no such rail");
  EXPECT_THAT(error_of(fleet.peer(0).call("dance", "", seconds(60), {})), HasSubstr("no method \"dance\""));
  const auto answer = fleet.peer(0).call("files", "5000000", seconds(60), {});
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->size(), 5000000u);
  EXPECT_THAT(error_of(fleet.peer(0).call("files", "9000000", seconds(60), {})), HasSubstr("too large"));
  EXPECT_THAT(error_of(fleet.peer(0).call("echo", std::string(kMaxToAgent, ' '), seconds(60), {})),
              HasSubstr("too large"));
}

TEST_F(FleetTest, AnAnswerIsBoundedByItsMethod) {
  Fleet fleet({{"here", "", true}}, options_);
  EXPECT_THAT(error_of(fleet.peer(0).call("long", "5000000", seconds(60), {})),
              HasSubstr("an answer of 5000000 bytes, more than the limit of 65536"));
  const std::string text = '"' + std::string(20'000, 'a') + '"';
  EXPECT_THAT(error_of(fleet.peer(0).call("echo", text, seconds(60), {})),
              HasSubstr("an answer with a text of 20000 bytes, more than the limit of 16384"));
  EXPECT_EQ(error_of(fleet.peer(0).call("echo", "[1]", seconds(60), {})), "no error: [1]");
}

TEST_F(FleetTest, GatherNamesTheSickAndServesTheRestInOrder) {
  fake_ssh(
      "case $destination in\n"
      "dead) echo 'ssh: connect to host dead port 22: No route to host' >&2; exit 255 ;;\n"
      "hung) exec sleep 1000 ;;\n"
      "esac");
  options_.start_deadline = seconds(3);
  options_.parallelism = 3;
  Fleet fleet({{"a", "a", false},
               {"dead", "dead", false},
               {"b", "b", false},
               {"hung", "hung", false},
               {"c", "c", false}},
              options_);
  std::vector<std::string> steps;
  const auto answers = gather(fleet, "echo", "[1]", seconds(60), {},
                              [&](const Step& step) { steps.push_back(step.to_text()); });
  std::vector<std::string> texts;
  for (const Answer& answer : answers)
    texts.push_back(answer.node + " " + error_of(answer.result).substr(0, 24));
  EXPECT_THAT(texts, ElementsAre("a no error: [1]", "dead dead: there is no route ", "b no error: [1]",
                                 "hung hung: no answer within 3", "c no error: [1]"));
  EXPECT_EQ(answers[1].result.error().node, "dead");
  EXPECT_EQ(answers[3].result.error().node, "hung");
  EXPECT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps.back(), "5/5 nodes, 2 failed");
  EXPECT_EQ(fleet.find("c")->node(), "c");
  EXPECT_EQ(fleet.find("d"), nullptr);
}

// Each of the two hanging nodes occupies a worker for its whole deadline; the healthy node would come after
// both.
TEST_F(FleetTest, NodesThatSayNothingHoldUpNoOther) {
  fake_ssh("case $destination in hung*) exec sleep 1000 ;; esac");
  options_.start_deadline = seconds(8);
  options_.parallelism = 1;
  Fleet fleet({{"hung1", "hung1", false}, {"hung2", "hung2", false}, {"a", "a", false}}, options_);
  std::vector<std::size_t> came;
  std::mutex mutex;
  ask_each(
      fleet, "echo", [](const std::string&) { return "[1]"; }, seconds(60), {},
      [&](std::size_t index, const Answer&) {
        const std::lock_guard lock(mutex);
        came.push_back(index);
      });
  ASSERT_EQ(came.size(), 3u);
  EXPECT_EQ(came.front(), 2u);
}

TEST_F(FleetTest, AgentAtASharedPathIsStartedFromThere) {
  const std::vector<AgentBinaries::Known> known = *AgentBinaries(RAILBED_TEST_AGENT, {}).known();
  const auto asked = [&](const std::string& shared) {
    write_program(root_ / "ssh",
                  "HOME=" + (root_ / "home").string() + "; unset XDG_CACHE_HOME; export HOME\n" +
                      bootstrap_command(known, "0123456789abcdef", kStartAsUser, shared) + "\n");
    Fleet fleet = one();
    return fleet.peer(0).call("whoami", "{}", seconds(60), {});
  };
  const auto there = asked(RAILBED_TEST_AGENT);
  ASSERT_TRUE(there) << there.error().text;
  EXPECT_THAT(*there, HasSubstr(fs::canonical(RAILBED_TEST_AGENT).string()));
  EXPECT_FALSE(fs::exists(agents()));
  options_.start_deadline = seconds(5);
  EXPECT_FALSE(asked("/bin/sh"))
      << "another file is there: the agent is asked for, by a nonce that is not ours";
}

TEST_F(FleetTest, GatherAfterAStopAsksNobody) {
  std::stop_source stop;
  stop.request_stop();
  Fleet fleet = one();
  const auto answers = gather(fleet, "hello", "{}", seconds(60), stop.get_token());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].result.error().kind, ErrorKind::kCancelled);
  EXPECT_EQ(pushes(), 0);
}

TEST(SshWords, RespectTheUserAndNeverWeakenHostKeys) {
  FleetOptions options;
  options.ssh_config = "/tmp/config";
  options.ssh_options = {"-o", "ConnectTimeout=3"};
  const auto words = ssh_words({"a", "-oProxyCommand=evil", false}, options, "true");
  const auto at = [&](const std::string& word) { return std::ranges::find(words, word) - words.begin(); };
  const auto size = static_cast<long>(words.size());
  EXPECT_LT(at("-F"), size);
  EXPECT_LT(at("ConnectTimeout=3"), at("ConnectTimeout=10"));
  EXPECT_LT(at("BatchMode=yes"), size);
  EXPECT_EQ(at("--"), size - 3) << "a destination is never taken for an option";
  for (const std::string& word : words) EXPECT_THAT(word, Not(HasSubstr("HostKey")));
}

// A signal ends an agent in this way, while its controller still holds the connection.
TEST(Serve, AStopLetsHandlersCleanUp) {
  int in[2];
  int out[2];
  ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  std::atomic<bool> begun = false;
  std::atomic<bool> cleaned = false;
  const Handlers handlers = {{"work", [&](std::string_view, std::stop_token stop) -> Result<std::string> {
                                begun = true;
                                while (!stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
                                cleaned = true;
                                return fail(ErrorKind::kCancelled, "stopped");
                              }}};
  const std::string request = encode_frame({FrameKind::kRequest, 1, encode_request({"work", 600'000, ""})});
  ASSERT_EQ(write(in[1], request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::stop_source stop;
  auto served =
      std::async(std::launch::async, [&] { return serve(in[0], out[1], handlers, stop.get_token()); });
  while (!begun) std::this_thread::sleep_for(milliseconds(1));
  stop.request_stop();
  EXPECT_EQ(served.get(), 0U);
  EXPECT_TRUE(cleaned);
  for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
}

}  // namespace
}  // namespace railbed::fleet

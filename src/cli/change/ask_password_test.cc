// A person at a pseudo terminal, and a process there that reads a password.
#include "cli/change/ask_password.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>

#include "base/fd.h"
#include "cli/fleet_options.h"

namespace railbed {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Acts as a command with -K; its exit code gives the result.
constexpr const char* kTyped = "s3cret \"word\"";
[[noreturn]] void run_command() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  CLI::App app;
  ReachOptions reach;
  add_root_options(app, reach);
  try {
    app.parse("-K");
  } catch (const CLI::ParseError& error) {
    write_all(STDERR_FILENO, error.what());
    _exit(64);
  }
  _exit(reach.as_root && reach.sudo_password == kTyped ? 0 : 1);
}

class AskedPerson : public testing::Test {
 protected:
  AskedPerson() {
    int terminal = -1;
    pid_ = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid_ == 0) run_command();
    terminal_ = Fd(terminal);
    slave_ = Fd(
        open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC));  // the terminal stays when the child is gone
  }
  // Reads until the text was shown, or nothing came for 30 s.
  void await(std::string_view text) {
    pollfd ready = {terminal_.get(), POLLIN, 0};
    while (shown_.find(text) == std::string::npos && poll(&ready, 1, 30'000) > 0) {
      char bytes[256];
      const ssize_t count = read(terminal_.get(), bytes, sizeof bytes);
      if (count <= 0) return;
      shown_.append(bytes, static_cast<std::size_t>(count));
    }
  }
  bool echoes() const {
    termios now = {};
    return tcgetattr(slave_.get(), &now) == 0 && (now.c_lflag & ECHO) != 0;
  }
  int end_after(std::string_view typed) {
    await("nodes: ");
    EXPECT_FALSE(echoes());
    write_all(terminal_.get(), typed);
    int status = -1;
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(echoes()) << "as it was before";
    write_all(slave_.get(), "the end");
    await("the end");
    return status;
  }

  pid_t pid_ = -1;
  Fd terminal_, slave_;
  std::string shown_;
};

TEST_F(AskedPerson, PasswordIsReadAndNotShown) {
  const int status = end_after(std::string(kTyped) + "\n");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << shown_;
  EXPECT_THAT(shown_, Not(HasSubstr("s3cret")));
}

TEST_F(AskedPerson, NothingTypedIsAnError) {
  const int status = end_after("\n");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 64);
  EXPECT_THAT(shown_, HasSubstr("no password was given"));
}

TEST_F(AskedPerson, InterruptEndsTheCommandAndTheTerminalEchoesAgain) {
  const int status = end_after("half\x03");
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

TEST(AskedNobody, IsAnErrorThatSaysWhatToDo) {
  std::array<int, 2> streams = {-1, -1};
  ASSERT_EQ(pipe(streams.data()), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();  // and with that no terminal
    dup2(streams[1], STDERR_FILENO);
    run_command();
  }
  const Fd out(streams[0]);
  close(streams[1]);
  char said[1024];
  const ssize_t count = read(out.get(), said, sizeof said);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 64);
  EXPECT_THAT(std::string(said, count > 0 ? static_cast<std::size_t>(count) : 0), HasSubstr("NOPASSWD"));
}

}  // namespace
}  // namespace railbed

#include "cli/change/ask_password.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>

#include <cerrno>

#include "base/fd.h"
#include "base/wipe.h"

namespace railbed {
namespace {

// Blocks the signals that end or stop a process while this lives; fd() is readable when one is pending. A
// pending signal takes effect when this is destroyed, after the terminal was restored.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP}) sigaddset(&held, number);
    sigprocmask(SIG_BLOCK, &held, &before_);
    came_ = Fd(signalfd(-1, &held, SFD_CLOEXEC));
  }
  HeldSignals(const HeldSignals&) = delete;
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int fd() const { return came_.get(); }

 private:
  sigset_t before_;
  Fd came_;
};

class WithoutEcho {
 public:
  explicit WithoutEcho(int terminal) : terminal_(terminal) {
    silent_ = tcgetattr(terminal, &before_) == 0;
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent_ = silent_ && tcsetattr(terminal, TCSAFLUSH, &now) == 0;
  }
  WithoutEcho(const WithoutEcho&) = delete;
  ~WithoutEcho() {
    if (!silent_) return;
    tcsetattr(terminal_, TCSAFLUSH, &before_);
    write_all(terminal_, "\n");
  }
  bool silent() const { return silent_; }

 private:
  int terminal_;
  termios before_ = {};
  bool silent_ = false;
};

// Reads a line, without its end; empty if a signal came first.
std::string read_line(int terminal, int signals) {
  pollfd waiting[] = {{terminal, POLLIN, 0}, {signals, POLLIN, 0}};
  while (poll(waiting, 2, -1) < 0 && errno == EINTR) {
  }
  if (waiting[1].revents != 0) return "";
  char typed[1024];  // sudo takes no longer one (SUDO_CONV_REPL_MAX)
  const ssize_t count = read(terminal, typed, sizeof typed);
  std::string line(typed, count > 0 ? static_cast<std::size_t>(count) : 0);
  explicit_bzero(typed, sizeof typed);
  if (!line.ends_with('\n')) wipe(line);  // incomplete, so it is of no use
  if (!line.empty()) line.pop_back();
  return line;
}

}  // namespace

Result<std::string> ask_password(std::string_view question) {
  const Fd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal)
    return fail(ErrorKind::kBadInput,
                "there is no terminal to ask for the password on: start the command from one, or let sudo on "
                "the nodes want none (NOPASSWD, sudoers(5))");
  const HeldSignals signals;
  const WithoutEcho quiet(terminal.get());
  if (!quiet.silent()) return fail(ErrorKind::kBadInput, "the terminal would show the password");
  write_all(terminal.get(), question);
  std::string line = read_line(terminal.get(), signals.fd());
  if (line.empty()) return fail(ErrorKind::kBadInput, "no password was given");
  return line;
}

}  // namespace railbed

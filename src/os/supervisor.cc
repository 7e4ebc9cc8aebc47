#include "os/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "os/orphans.h"

namespace railbed {
namespace {

using SupervisorClock = std::chrono::steady_clock;

// Time for the processes that the program left behind to end by themselves: podman removes the container
// then.
constexpr std::chrono::seconds kLeftoverPause{1};
// After this time a process is not waited for any longer: one that hangs in a driver survives SIGKILL.
constexpr std::chrono::seconds kKillPatience{10};
constexpr std::chrono::milliseconds kEndingSlice{50};
constexpr std::size_t kMostRecords = 1 << 16;

// The LC_ALL of the login, kept by the script that starts agents before it sets its own (fleet/bootstrap.cc).
constexpr const char* kLoginLocale = "RAILBED_LOGIN_LOCALE";

// ---- the job as text: records that end with NUL, which no word of a command holds

std::string to_records(const SupervisedJob& job) {
  std::vector<std::string> records = {std::to_string(job.grace.count()), std::to_string(job.patience.count()),
                                      job.folder, std::to_string(job.environment.size())};
  records.insert(records.end(), job.environment.begin(), job.environment.end());
  records.insert(records.end(), job.words.begin(), job.words.end());
  std::string text = std::to_string(records.size()) + '\0';
  for (const std::string& record : records) text += record + '\0';
  return text;
}

// Reads byte by byte, because the bytes behind the job are heartbeats.
std::optional<std::string> read_record(int in) {
  std::string text;
  for (char byte = 0;;) {
    const ssize_t got = read(in, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    if (byte == '\0') return text;
    text += byte;
  }
}

std::optional<SupervisedJob> read_job(int in) {
  const auto head = read_record(in);
  const auto count = head ? parse_number<std::size_t>(*head) : std::nullopt;
  if (!count || *count > kMostRecords) return std::nullopt;
  std::vector<std::string> records;
  while (records.size() < *count) {
    auto one = read_record(in);
    if (!one) return std::nullopt;
    records.push_back(std::move(*one));
  }
  if (records.size() < 5) return std::nullopt;
  const auto grace = parse_number<int>(records[0]);
  const auto patience = parse_number<int>(records[1]);
  const auto variables = parse_number<std::size_t>(records[3]);
  if (!grace || !patience || !variables || *variables > records.size() - 5) return std::nullopt;
  const auto words = records.begin() + 4 + static_cast<std::ptrdiff_t>(*variables);
  return SupervisedJob{{words, records.end()},
                       {records.begin() + 4, words},
                       records[2],
                       std::chrono::seconds(*grace),
                       std::chrono::seconds(*patience)};
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// ---- the program

bool runs(const std::string& path) {
  struct stat about = {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && access(path.c_str(), X_OK) == 0;
}

bool found_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path != nullptr ? path : "/usr/bin:/bin", ':'))
    if (runs(fmt::format("{}/{}", folder.empty() ? "." : folder, program))) return true;
  return false;
}

// Prints a message unless that would block: if the output were full, this process would never end the
// program.
void tell(std::string_view text) {
  pollfd room = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&room, 1, 0) > 0) write_all(STDERR_FILENO, text);
}

// Restores the login's LC_ALL: the agent's own is not meant for the program.
void restore_locale() {
  const char* locale = std::getenv(kLoginLocale);
  if (locale == nullptr) return;
  if (*locale == '\0')
    unsetenv("LC_ALL");
  else
    setenv("LC_ALL", locale, 1);
  unsetenv(kLoginLocale);
}

[[noreturn]] void refuse_to_start(const std::string& what) {
  const int error = errno;
  tell(fmt::format("railbed: {}: {}\n", what, std::strerror(error)));
  _exit(error == ENOENT ? 127 : 126);
}

[[noreturn]] void become_program(const SupervisedJob& job, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  close_range(3, ~0U, 0);
  restore_locale();
  for (const std::string& one : job.environment) {
    const auto sign = one.find('=');
    setenv(one.substr(0, sign).c_str(), one.substr(sign + 1).c_str(), 1);
  }
  if (!job.folder.empty() && chdir(job.folder.c_str()) != 0) refuse_to_start("cannot enter " + job.folder);
  std::vector<char*> words;
  for (const std::string& word : job.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  refuse_to_start("cannot start " + job.words.front());
}

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// ---- the supervisor

// A state machine, driven by signals (signalfd), heartbeats and the clock:
//   running    until the program ends, or a signal, the end of input or the heartbeat timeout sets `stop_`
//   stopping   the program's process group gets SIGTERM
//   leftovers  the program has ended: after a pause, or at once when stopping, all other children get SIGTERM
//   killing    after `grace` all children get SIGKILL, again on each turn, because orphans become children
//   given up   kKillPatience later: the remaining processes hang in the kernel
// It ends as soon as no child is left.

class Supervisor {
 public:
  Supervisor(int in, const SupervisedJob& job) : in_(in), job_(job) {}

  int run() {
    if (!prepare()) refuse_to_start("cannot watch over " + job_.words.front());
    start();
    while (!reap()) {
      act();
      if (terminated_ && SupervisorClock::now() > *terminated_ + job_.grace + kKillPatience) return give_up();
      wait();
    }
    return *status_;
  }

 private:
  bool prepare() {
    sigset_t heard;
    sigemptyset(&heard);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&heard, number);
    sigprocmask(SIG_BLOCK, &heard, nullptr);
    signals_ = Fd(signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
    signal(SIGPIPE, SIG_IGN);
    set_blocking(in_, false);
    return signals_ && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  }

  void start() {
    const pid_t self = getpid();
    program_ = fork();
    if (program_ == 0) become_program(job_, self);
    if (program_ < 0) refuse_to_start("cannot start " + job_.words.front());
    setpgid(program_, program_);  // in both processes, because either may run first
  }

  // Returns true if no child is left.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      if (pid <= 0) return pid < 0;
      if (pid != program_) continue;
      status_ = code_of(status);
      ended_ = SupervisorClock::now();
    }
  }

  void act() {
    const auto now = SupervisorClock::now();
    if (!stop_ && now > heard_ + job_.patience) {
      stop_ = true;
      tell(fmt::format(
          "railbed: the command that started this agent has been silent for {} s: the agent ends\n",
          job_.patience.count()));
    }
    if (!status_ && stop_ && !terminated_) {
      kill(-program_, SIGTERM);
      terminated_ = now;
    }
    if (status_ && !leftovers_told_ && (stop_ || now > *ended_ + kLeftoverPause)) {
      signal_children(SIGTERM);
      leftovers_told_ = true;
      if (!terminated_) terminated_ = now;
    }
    if (terminated_ && now > *terminated_ + job_.grace) signal_children(SIGKILL);
  }

  void wait() {
    const bool ending = stop_ || status_;
    const auto left =
        ending
            ? kEndingSlice
            : std::chrono::ceil<std::chrono::milliseconds>(heard_ + job_.patience - SupervisorClock::now());
    // An input at its end would always be readable.
    pollfd fds[] = {{signals_.get(), POLLIN, 0}, {input_ended_ ? -1 : in_, POLLIN, 0}};
    poll(fds, 2, static_cast<int>(std::clamp<long long>(left.count(), 0, 60'000)) + 1);
    if (fds[0].revents != 0) take_signals();
    if (fds[1].revents != 0) take_signs_of_life();
  }

  void take_signals() {
    signalfd_siginfo one = {};
    while (read(signals_.get(), &one, sizeof one) == sizeof one)
      if (one.ssi_signo != SIGCHLD) stop_ = true;
  }

  void take_signs_of_life() {
    char bytes[256];
    const ssize_t got = read(in_, bytes, sizeof bytes);
    if (got > 0) heard_ = SupervisorClock::now();
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
    stop_ = input_ended_ = true;
  }

  int give_up() const {
    tell("railbed: some processes outlived SIGKILL; they hang in the kernel\n");
    return status_.value_or(128 + SIGKILL);
  }

  const int in_;
  const SupervisedJob& job_;
  Fd signals_;
  pid_t program_ = -1;
  std::optional<int> status_;  // the program's
  std::optional<SupervisorClock::time_point> ended_;
  SupervisorClock::time_point heard_ = SupervisorClock::now();
  bool stop_ = false;
  bool input_ended_ = false;
  bool leftovers_told_ = false;
  std::optional<SupervisorClock::time_point> terminated_;  // time of SIGTERM; SIGKILL follows after `grace`
};

}  // namespace

Result<void> check_job(const SupervisedJob& job) {
  const auto refuse = [](std::string text) { return fail(ErrorKind::kUnavailable, std::move(text)); };
  if (geteuid() == 0 && std::getenv("SUDO_UID") != nullptr)
    return refuse("an agent that became root by sudo starts no programs");
  std::error_code failure;
  if (!job.folder.empty() && !std::filesystem::is_directory(job.folder, failure))
    return refuse(fmt::format("there is no folder {}", job.folder));
  const std::string& program = job.words.front();
  if (program.starts_with('/') ? runs(program)
      : program.find('/') != std::string::npos
          ? runs(fmt::format("{}/{}", job.folder.empty() ? "." : job.folder, program))
          : found_in_path(program))
    return {};
  return refuse(fmt::format("{} is in no folder of the PATH that a command over ssh gets: {}", program,
                            std::getenv("PATH") != nullptr ? std::getenv("PATH") : "(none)"));
}

Result<Program> start_supervised(const SupervisedJob& job) {
  auto program = start_program({"/proc/self/exe", "agent", "--supervise"});
  if (!program) return program;
  program->child.let_outlive();
  set_blocking(program->in.get(), true);
  if (!send_all(program->in.get(), to_records(job)))
    return fail(ErrorKind::kUnavailable, "the process that was to start the program has ended");
  set_blocking(program->in.get(), false);
  return program;
}

int supervise(int in) {
  const auto job = read_job(in);
  if (!job) return 126;
  return Supervisor(in, *job).run();
}

}  // namespace railbed

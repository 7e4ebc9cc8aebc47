#include "host/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "host/errno_name.h"
#include "host/fd.h"
#include "host/words.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

// Users without root often lack the sbin folders in PATH, where ip lives.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  const std::string folders = std::string(path != nullptr ? path : "") + ":/usr/sbin:/usr/bin:/sbin:/bin";
  for (const auto folder : split(folders, ':')) {
    const std::string program = std::string(folder) + "/" + name;
    if (folder.starts_with('/') && access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

struct Pipe {
  Fd read_end;
  Fd write_end;
};

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Moves what is there; false at the end of the stream or when `into` has grown beyond kMaxOutput.
bool drain(const Fd& fd, std::string& into) {
  std::array<char, 16384> piece;
  while (into.size() <= kMaxOutput) {
    const ssize_t got = read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    into.append(piece.data(), static_cast<std::size_t>(got));
  }
  return false;
}

enum class End { kExited, kTimeout, kTooMuch };

// A running child: what it says is collected until it exits, or kills it.
class Child {
 public:
  Child(pid_t pid, bool group)
      : pid_(pid), group_(group), exit_fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~Child() {
    if (reaped_) return;
    stop();
    // A process stuck in a driver survives SIGKILL; it must not take us along.
    wait_exit(Clock::now() + std::chrono::milliseconds(500));
    reap(WNOHANG);
  }

  End collect(std::vector<std::pair<Fd, std::string*>>& streams, Clock::time_point deadline) {
    for (;;) {
      std::vector<pollfd> waiting{{exit_fd_.get(), POLLIN, 0}};
      for (const auto& [fd, text] : streams) waiting.push_back({fd.get(), POLLIN, 0});
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return End::kTimeout;
      if (poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
        return End::kTimeout;
      const bool exited = waiting[0].revents != 0;
      for (auto& [fd, text] : streams) {
        if (fd && !drain(fd, *text)) fd.reset();
        if (text->size() > kMaxOutput) return End::kTooMuch;
      }
      if (exited) return End::kExited;
    }
  }

  void stop() const { kill(group_ ? -pid_ : pid_, SIGKILL); }

  // After collect() said kExited: nothing of the group is left running, and the status is as in a shell.
  int exit_code() {
    if (group_) stop();  // while the zombie still holds the number
    reap(0);
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  }

 private:
  void wait_exit(Clock::time_point deadline) const {
    pollfd waiting{exit_fd_.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    poll(&waiting, 1, static_cast<int>(left.count()));
  }

  void reap(int flags) {
    while (waitpid(pid_, &status_, flags) < 0 && errno == EINTR) {
    }
    reaped_ = true;
  }

  pid_t pid_;
  bool group_;
  Fd exit_fd_;
  int status_ = 0;
  bool reaped_ = false;
};

// The caller's environment with messages in English.
std::vector<char*> plain_environment() {
  static char locale[] = "LC_ALL=C";
  std::vector<char*> environment;
  for (char** one = environ; *one != nullptr; ++one)
    if (std::strncmp(*one, "LC_ALL=", 7) != 0) environment.push_back(*one);
  environment.push_back(locale);
  environment.push_back(nullptr);
  return environment;
}

int spawn(const std::string& program, const std::vector<std::string>& words, const Pipe& out, const Pipe& err,
          pid_t& pid) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error =
      posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), plain_environment().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Nothing of other threads' children may live on in one that may hang, and what a library prints goes
// nowhere. Ctrl-C ends the child as it would end any program.
struct ChildEnds {
  int answer = 3;
  int steps = 4;
};
ChildEnds keep_only(const Fd& answer, const Fd& steps) {
  constexpr int kOutOfTheWay = 16;
  const ChildEnds ends;
  const int answer_copy = fcntl(answer.get(), F_DUPFD, kOutOfTheWay);
  const int steps_copy = fcntl(steps.get(), F_DUPFD, kOutOfTheWay);
  const int null = fcntl(open("/dev/null", O_RDWR), F_DUPFD, kOutOfTheWay);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
  dup2(answer_copy, ends.answer);
  dup2(steps_copy, ends.steps);
  close_range(static_cast<unsigned>(ends.steps) + 1, ~0U, 0);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) signal(signal_number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  return ends;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

[[noreturn]] void answer_in_child(const Fd& answer_end, const Fd& steps_end, pid_t parent,
                                  const std::function<std::string(const Say& about_to)>& answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const ChildEnds ends = keep_only(answer_end, steps_end);
  const Say about_to = [&](std::string_view step) {
    if (!write_all(ends.steps, std::string(step) + "\n")) _exit(1);
  };
  _exit(write_all(ends.answer, answer(about_to)) ? 0 : 1);
}

std::string last_step(std::string_view steps) {
  const auto end = steps.rfind('\n');
  if (end == std::string_view::npos) return "";
  steps = steps.substr(0, end);
  return std::string(steps.substr(steps.rfind('\n') + 1));
}

Miss miss_of_end(End end) {
  if (end == End::kTimeout) return {Missing::kTimeout, "no answer within the deadline"};
  return {Missing::kGarbled, "more than 4 MiB of output"};
}

}  // namespace

Reading<CommandOutput> run_program(const std::vector<std::string>& words, std::chrono::milliseconds deadline,
                                   std::stop_token stop) {
  const std::string from = joined(words);
  const std::string program = find_program(words.front());
  if (program.empty()) return {Miss{Missing::kAbsent, words.front() + " is not installed"}, from};
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out || !err) return {miss_of(errno), from};
  pid_t pid = 0;
  if (const int error = spawn(program, words, *out, *err, pid); error != 0) return {miss_of(error), from};
  Child child(pid, true);
  out->write_end.reset();
  err->write_end.reset();
  CommandOutput result;
  std::vector<std::pair<Fd, std::string*>> streams;
  streams.emplace_back(std::move(out->read_end), &result.output);
  streams.emplace_back(std::move(err->read_end), &result.error_output);
  const auto collect = [&] {
    // Gone before the child is reaped: its number is not another's yet.
    const std::stop_callback killer(stop, [&] { child.stop(); });
    return child.collect(streams, Clock::now() + deadline);
  };
  if (const End end = collect(); end != End::kExited) return {miss_of_end(end), from};
  result.exit_code = child.exit_code();
  return {std::move(result), from};
}

Reading<std::string> ask_in_child(std::string_view name,
                                  const std::function<std::string(const Say& about_to)>& answer,
                                  std::chrono::milliseconds deadline) {
  const std::string from(name);
  auto answer_pipe = make_pipe();
  auto step_pipe = make_pipe();
  if (!answer_pipe || !step_pipe) return {miss_of(errno), from};
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return {miss_of(errno), from};
  if (pid == 0) answer_in_child(answer_pipe->write_end, step_pipe->write_end, parent, answer);
  Child child(pid, false);
  answer_pipe->write_end.reset();
  step_pipe->write_end.reset();
  std::string text;
  std::string steps;
  std::vector<std::pair<Fd, std::string*>> streams;
  streams.emplace_back(std::move(answer_pipe->read_end), &text);
  streams.emplace_back(std::move(step_pipe->read_end), &steps);
  const End end = child.collect(streams, Clock::now() + deadline);
  const std::string step = last_step(steps);
  if (end == End::kTimeout && !step.empty()) return {Miss{Missing::kTimeout, step}, from};
  if (end != End::kExited) return {miss_of_end(end), from};
  if (const int code = child.exit_code(); code != 0)
    return {Miss{Missing::kGarbled, fmt::format("the library ended the process that asked it ({}){}", code,
                                                step.empty() ? "" : " in " + step)},
            from};
  return {std::move(text), from};
}

}  // namespace railbed

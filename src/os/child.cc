#include "os/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "os/process.h"

namespace railbed {
namespace {

constexpr int kFirstSecret = 3;  // in the child

// Reads the available bytes. Returns false at the end of the stream or once `into` exceeds kMaxOutput.
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

void fresh_signals(posix_spawnattr_t& attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
}

}  // namespace

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  set_blocking(ends[0], false);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::optional<std::pair<Fd, Fd>> make_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  set_blocking(ends[0], false);
  return std::pair{Fd(ends[0]), Fd(ends[1])};
}

Miss miss_of_end(End end) {
  if (end == End::kTimeout) return {Missing::kTimeout, "no answer within the deadline"};
  return {Missing::kGarbled, "more than 4 MiB of output"};
}

Child::Child(pid_t pid, bool group)
    : pid_(pid), group_(group), exit_fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      group_(other.group_),
      exit_fd_(std::move(other.exit_fd_)),
      status_(other.status_),
      reaped_(other.reaped_),
      outlives_(other.outlives_) {}

Child::~Child() {
  if (pid_ < 0 || reaped_ || outlives_) return;
  stop();
  // A process that hangs in a driver survives SIGKILL; do not hang with it.
  wait_exit(Clock::now() + std::chrono::milliseconds(500));
  reap(WNOHANG);
}

std::optional<End> Child::collect_some(Streams& streams, Clock::time_point until) {
  std::vector<pollfd> waiting{{exit_fd_.get(), POLLIN, 0}};
  for (const auto& [fd, text] : streams) waiting.push_back({fd.get(), POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  if (left.count() <= 0) return std::nullopt;
  if (poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
    return End::kTimeout;
  const bool exited = waiting[0].revents != 0;
  for (auto& [fd, text] : streams) {
    if (fd && !drain(fd, *text)) fd.reset();
    if (text->size() > kMaxOutput) return End::kTooMuch;
  }
  if (exited) return End::kExited;
  return std::nullopt;
}

End Child::collect(Streams& streams, Clock::time_point deadline) {
  while (Clock::now() < deadline)
    if (const auto end = collect_some(streams, deadline)) return *end;
  return End::kTimeout;
}

void Child::signal(int number) const {
  if (pid_ > 0 && !reaped_) kill(group_ ? -pid_ : pid_, number);
}

void Child::stop() const { signal(SIGKILL); }

int Child::status() const { return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_); }

std::optional<int> Child::ended() {
  if (!reaped_ && waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return reaped_ ? std::optional(status()) : std::nullopt;
}

int Child::exit_code() {
  if (!reaped_ && group_) stop();  // before the zombie's number can be reused
  if (!reaped_) reap(0);
  return status();
}

void Child::wait_exit(Clock::time_point deadline) const {
  pollfd waiting{exit_fd_.get(), POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  poll(&waiting, 1, static_cast<int>(left.count()));
}

void Child::reap(int flags) {
  while (waitpid(pid_, &status_, flags) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

SecretFiles::SecretFiles(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const Fd made(memfd_create("railbed", MFD_CLOEXEC));
    // Above the numbers that the child uses, so that no dup2() there overwrites another text.
    Fd file(fcntl(made.get(), F_DUPFD_CLOEXEC, kFirstSecret + 16));
    if (!file || !write_all(file.get(), text)) error_ = errno;
    files_.push_back(std::move(file));
  }
}

std::string SecretFiles::path(std::size_t index) {
  return fmt::format("/proc/self/fd/{}", kFirstSecret + static_cast<int>(index));
}

int spawn(const std::string& program, const std::vector<std::string>& words, const StandardStreams& streams,
          char* const* environment, pid_t& pid, const SecretFiles& secrets) {
  if (secrets.error() != 0) return secrets.error();
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The first terminal that the leader of a new session opens becomes its controlling terminal, even once
  // closed.
  if (streams.terminal != nullptr)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, streams.terminal, O_RDWR, 0);
  if (streams.in < 0)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  else
    posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  for (int at = kFirstSecret; const Fd& file : secrets.files())
    posix_spawn_file_actions_adddup2(&actions, file.get(), at++);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  fresh_signals(attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  // The leader of a session leads its group as well; asking for both is an error.
  const short leads = streams.terminal != nullptr ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(leads | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  const int error = posix_spawnp(&pid, program.c_str(), &actions, &attributes, arguments.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Result<Program> start_program(const std::vector<std::string>& words, const SecretFiles& secrets) {
  const auto refuse = [](std::string text) { return fail(ErrorKind::kUnavailable, std::move(text)); };
  auto in = make_sockets();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) return refuse(fmt::format("no pipe for {}: {}", words[0], std::strerror(errno)));
  pid_t pid = -1;
  const StandardStreams streams{in->second.get(), out->write_end.get(), err->write_end.get()};
  if (const int error = spawn(words[0], words, streams, environ, pid, secrets); error != 0)
    return refuse(fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  return Program{Child(pid, true), std::move(in->first), std::move(out->read_end), std::move(err->read_end)};
}

Result<void> start_detached(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return fail(ErrorKind::kUnavailable, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child > 0) {
    waitpid(child, nullptr, 0);
    return {};
  }
  setsid();
  if (fork() != 0) _exit(0);
  const int nothing = open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) dup2(nothing, stream);
  close_range(3, ~0U, 0);
  // The running program itself, whatever is at its path by now.
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

void yield_to_others() {
  setpriority(PRIO_PROCESS, 0, 19);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

}  // namespace railbed

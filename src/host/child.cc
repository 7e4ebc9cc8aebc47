#include "host/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "host/process.h"

namespace railbed {
namespace {

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

}  // namespace

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Miss miss_of_end(End end) {
  if (end == End::kTimeout) return {Missing::kTimeout, "no answer within the deadline"};
  return {Missing::kGarbled, "more than 4 MiB of output"};
}

Child::Child(pid_t pid, bool group)
    : pid_(pid), group_(group), exit_fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

Child::~Child() {
  if (reaped_) return;
  stop();
  // A process stuck in a driver survives SIGKILL; it must not take us along.
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

void Child::stop() const { kill(group_ ? -pid_ : pid_, SIGKILL); }

int Child::exit_code() {
  if (!reaped_ && group_) stop();  // while the zombie still holds the number
  if (!reaped_) reap(0);
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
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

}  // namespace railbed

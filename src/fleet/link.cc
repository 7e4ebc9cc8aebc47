#include "fleet/link.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/wipe.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kErrorsKept = 4096;
constexpr auto kUnkillable = std::chrono::seconds(6);  // longer than an agent takes to end

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
}

}  // namespace

Waker::Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Waker::wake() const { eventfd_write(fd_.get(), 1); }

void Waker::clear() const {
  eventfd_t count = 0;
  eventfd_read(fd_.get(), &count);
}

void Waker::wait_until(Clock::time_point time, const std::stop_token& stop) const {
  pollfd woken = {fd_.get(), POLLIN, 0};
  while (!stop.stop_requested() && Clock::now() < time)
    if (poll(&woken, 1, milliseconds_until(time)) > 0) clear();
}

Result<Link> Link::start(const std::vector<std::string>& words) {
  ASSIGN_OR_RETURN(auto program, start_program(words));
  return Link(std::move(program));
}

Link::Event Link::pump(Clock::time_point deadline, const Waker& waker) {
  if (Clock::now() >= deadline) return Event::kTimeout;
  const bool writing = !outbox_.empty() && bool(program_.in);
  pollfd fds[] = {{program_.out.get(), POLLIN, 0},
                  {program_.err.get(), POLLIN, 0},
                  {waker.fd(), POLLIN, 0},
                  {writing ? program_.in.get() : -1, POLLOUT, 0}};
  const int ready = poll(fds, 4, milliseconds_until(deadline));
  if (ready == 0) return Event::kTimeout;
  if (ready < 0) return Event::kProgress;  // EINTR: the caller calls again
  if (fds[1].revents != 0) read_errors();
  if (fds[2].revents != 0) waker.clear();
  if (fds[3].revents != 0) write_input();
  if (fds[0].revents != 0 && !read_output()) {
    read_errors();
    return Event::kEnd;
  }
  return Event::kProgress;
}

bool Link::read_output() {
  char bytes[kChunkBytes];
  const ssize_t count = read(program_.out.get(), bytes, sizeof bytes);
  if (count > 0) decoder_.feed({bytes, static_cast<std::size_t>(count)});
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Link::read_errors() {
  char bytes[4096];
  while (program_.err) {
    const ssize_t count = read(program_.err.get(), bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      program_.err.reset();
      return;
    }
    errors_.append(bytes, static_cast<std::size_t>(count));
    if (errors_.size() > kErrorsKept) errors_.erase(0, errors_.size() - kErrorsKept);
  }
}

void Link::write_input() {
  const ssize_t count =
      ::send(program_.in.get(), outbox_.data() + sent_, outbox_.size() - sent_, MSG_NOSIGNAL);
  if (count > 0) sent_ += static_cast<std::size_t>(count);
  // A child that stops reading shows the reason in its output, or by its exit.
  const bool broken = count < 0 && errno != EAGAIN && errno != EINTR;
  if (broken) program_.in.reset();
  if (broken || sent_ == outbox_.size()) {
    wipe(outbox_);  // it may have held a password
    sent_ = 0;
  }
}

void Link::close(std::chrono::milliseconds grace) {
  program_.in.reset();
  wipe(outbox_);
  const auto start = Clock::now();
  bool terminated = false;
  char rest[4096];
  while (!program_.child.ended() && Clock::now() - start < grace + kUnkillable) {
    // Keeps reading, so that a child that still writes can end.
    if (program_.out && read(program_.out.get(), rest, sizeof rest) == 0) program_.out.reset();
    read_errors();
    const auto waited = Clock::now() - start;
    if (waited > grace && !terminated) {
      program_.child.signal(SIGTERM);
      terminated = true;
    } else if (waited > grace + std::chrono::milliseconds(500)) {
      program_.child.signal(SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  read_errors();
}

}  // namespace railbed::fleet

#include "fleet/link.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace railbed::fleet {
namespace {

constexpr std::size_t kErrorsKept = 4096;
constexpr std::size_t kChunk = 65536;

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
  auto child = Child::spawn(words);
  if (!child) return fail(child.error());
  return Link(std::move(*child));
}

Link::Event Link::pump(Clock::time_point deadline, const Waker& waker) {
  if (Clock::now() >= deadline) return Event::kTimeout;
  const bool writing = !outbox_.empty() && child_.in.open();
  pollfd fds[] = {{child_.out.get(), POLLIN, 0},
                  {child_.err.get(), POLLIN, 0},
                  {waker.fd(), POLLIN, 0},
                  {writing ? child_.in.get() : -1, POLLOUT, 0}};
  const int ready = poll(fds, 4, milliseconds_until(deadline));
  if (ready == 0) return Event::kTimeout;
  if (ready < 0) return Event::kProgress;  // EINTR: the caller comes again
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
  char bytes[kChunk];
  const ssize_t count = read(child_.out.get(), bytes, sizeof bytes);
  if (count > 0) decoder_.feed({bytes, static_cast<std::size_t>(count)});
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Link::read_errors() {
  char bytes[4096];
  while (child_.err.open()) {
    const ssize_t count = read(child_.err.get(), bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      child_.err.close();
      return;
    }
    errors_.append(bytes, static_cast<std::size_t>(count));
    if (errors_.size() > kErrorsKept) errors_.erase(0, errors_.size() - kErrorsKept);
  }
}

void Link::write_input() {
  const ssize_t count = ::send(child_.in.get(), outbox_.data() + sent_, outbox_.size() - sent_, MSG_NOSIGNAL);
  if (count > 0) sent_ += static_cast<std::size_t>(count);
  // One that reads no more says why in its output, or by its end.
  const bool broken = count < 0 && errno != EAGAIN && errno != EINTR;
  if (broken) child_.in.close();
  if (broken || sent_ == outbox_.size()) {
    outbox_.clear();
    sent_ = 0;
  }
}

void Link::close(std::chrono::milliseconds grace) {
  child_.in.close();
  const auto start = Clock::now();
  bool terminated = false;
  char rest[4096];
  while (!child_.exit_code()) {
    // Drained, so that a child that still writes can reach its end.
    if (child_.out.open() && read(child_.out.get(), rest, sizeof rest) == 0) child_.out.close();
    read_errors();
    const auto waited = Clock::now() - start;
    if (waited > grace && !terminated) {
      child_.signal(SIGTERM);
      terminated = true;
    } else if (waited > grace + std::chrono::milliseconds(500)) {
      child_.signal(SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  read_errors();
}

}  // namespace railbed::fleet

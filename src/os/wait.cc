#include "os/wait.h"

#include <poll.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace railbed {
namespace {

Waited wait_for_event(int fd, short events, std::chrono::steady_clock::time_point until,
                      const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return Waited::kStopped;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd waiting = {fd, events, 0};
    if (poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left.count(), 0, kPollSliceMs))) > 0)
      return Waited::kReady;
    if (left.count() <= 0) return Waited::kTimeout;
  }
}

}  // namespace

Waited wait_readable(int fd, std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
  return wait_for_event(fd, POLLIN, until, stop);
}

Waited wait_writable(int fd, std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
  return wait_for_event(fd, POLLOUT, until, stop);
}

bool wait_unless_stopped(std::chrono::duration<double> time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::duration_cast<std::chrono::milliseconds>(time),
                 [] { return false; });
  return !stop.stop_requested();
}

}  // namespace railbed

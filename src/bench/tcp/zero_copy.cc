#include "bench/tcp/zero_copy.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "bench/core/clock.h"
#include "os/wait.h"

namespace railbed {
namespace {

bool enable(int fd) {
  const int on = 1;
  return setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0;
}

}  // namespace

ZeroCopySender::ZeroCopySender(int fd, std::uint64_t most) : fd_(fd), most_(most), enabled_(enable(fd)) {}

Break ZeroCopySender::send_all(std::span<iovec> parts, std::chrono::nanoseconds patience,
                               const std::stop_token& stop) {
  if (const Break why = wait_until(most_, patience, stop); why != Break::kNone) return why;
  std::uint64_t calls = 0;
  const Break why = railbed::send_all(fd_, parts, patience, stop, MSG_ZEROCOPY, &calls);
  called_ += calls;
  return why;
}

Break ZeroCopySender::drain(std::chrono::nanoseconds patience, const std::stop_token& stop) {
  return wait_until(1, patience, stop);
}

Break ZeroCopySender::wait_until(std::uint64_t below, std::chrono::nanoseconds patience,
                                 const std::stop_token& stop) {
  SendPatience limit(fd_, patience);
  for (reap(); called_ - done_ >= below; reap()) {
    if (stop.stop_requested()) return Break::kStopped;
    if (const Break why = limit.waited(); why != Break::kNone) return why;
    pollfd waiting{fd_, 0, 0};  // completions wake poll() as an error (POLLERR), which needs no request
    poll(&waiting, 1, kPollSliceMs);
    if ((waiting.revents & POLLHUP) != 0) return Break::kClosed;
  }
  return Break::kNone;
}

void ZeroCopySender::reap() {
  alignas(cmsghdr) char control[128];
  while (called_ != done_) {
    msghdr message{};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
      sock_extended_err error{};
      if (one->cmsg_len < CMSG_LEN(sizeof error)) continue;
      std::memcpy(&error, CMSG_DATA(one), sizeof error);
      if (error.ee_origin != SO_EE_ORIGIN_ZEROCOPY) continue;
      const std::uint32_t calls = error.ee_data - error.ee_info + 1;  // an inclusive range of call numbers
      done_ += calls;
      if ((error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) copied_ += calls;
    }
  }
}

}  // namespace railbed

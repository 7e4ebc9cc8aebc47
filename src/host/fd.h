#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace railbed {

// A file descriptor that closes itself; keeps errno, so that a failed open can still be explained.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    errno = error;
  }

 private:
  int fd_ = -1;
};

}  // namespace railbed

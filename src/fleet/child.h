// A program started beside us, with our ends of its standard streams. It lives in a process group of its own,
// so that Ctrl-C in the terminal reaches only us and we end it in order.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace railbed::fleet {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

class Child {
 public:
  // words[0] is found by PATH.
  static Result<Child> spawn(const std::vector<std::string>& words);
  Child(Child&& other) noexcept = default;
  Child& operator=(Child&& other) noexcept = delete;
  ~Child();  // kills and reaps what still runs

  // Non-blocking. `in` is a socket: write with send(MSG_NOSIGNAL), for a child may be gone.
  Fd in, out, err;

  // Exit code, or 128 + signal; nothing while it runs.
  std::optional<int> exit_code();
  void signal(int number);  // to the whole group
  pid_t pid() const { return pid_.value; }

 private:
  struct Pid {  // moves away, so that only one Child ever signals a process
    pid_t value = -1;
    Pid() = default;
    explicit Pid(pid_t pid) : value(pid) {}
    Pid(Pid&& other) noexcept : value(std::exchange(other.value, -1)) {}
  };
  Child(Fd input, Fd output, Fd errors, pid_t pid)
      : in(std::move(input)), out(std::move(output)), err(std::move(errors)), pid_(pid) {}

  Pid pid_;
  std::optional<int> exit_code_;
};

}  // namespace railbed::fleet

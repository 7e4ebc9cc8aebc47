// A running child process and the pipes to it, for process.cc and ask_in_child.cc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reading.h"
#include "host/fd.h"

namespace railbed {

struct Pipe {
  Fd read_end;
  Fd write_end;
};
std::optional<Pipe> make_pipe();

enum class End { kExited, kTimeout, kTooMuch };
Miss miss_of_end(End end);

// What it says is collected until it exits, or kills it.
class Child {
 public:
  using Clock = std::chrono::steady_clock;
  using Streams = std::vector<std::pair<Fd, std::string*>>;

  Child(pid_t pid, bool group);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  End collect(Streams& streams, Clock::time_point deadline);
  // Waits for more until then; nothing while it neither ended nor said too much.
  std::optional<End> collect_some(Streams& streams, Clock::time_point until);
  void stop() const;
  // After kExited: nothing of the group is left running, and the status is as in a shell.
  int exit_code();

 private:
  void wait_exit(Clock::time_point deadline) const;
  void reap(int flags);

  pid_t pid_;
  bool group_;
  Fd exit_fd_;
  int status_ = 0;
  bool reaped_ = false;
};

}  // namespace railbed

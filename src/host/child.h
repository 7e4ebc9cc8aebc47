// A running child process and the pipes to it: forked ones and programs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/reading.h"
#include "base/result.h"

namespace railbed {

struct Pipe {
  Fd read_end;  // does not block
  Fd write_end;
};
std::optional<Pipe> make_pipe();
// Two ends of a socket; ours is first and does not block. Written with send(MSG_NOSIGNAL) it never kills us.
std::optional<std::pair<Fd, Fd>> make_sockets();

enum class End { kExited, kTimeout, kTooMuch };
Miss miss_of_end(End end);

// Killed when this object goes, where it still runs and is not to outlive it.
class Child {
 public:
  using Clock = std::chrono::steady_clock;
  using Streams = std::vector<std::pair<Fd, std::string*>>;

  // `group`: it leads a process group of its own, which is signalled as a whole.
  Child(pid_t pid, bool group);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) = delete;
  ~Child();

  // What it says is collected until it exits, or says too much.
  End collect(Streams& streams, Clock::time_point deadline);
  // Waits for more until then; nothing while it neither ended nor said too much.
  std::optional<End> collect_some(Streams& streams, Clock::time_point until);
  void signal(int number) const;
  void stop() const;
  // It ends by itself, whatever becomes of this object.
  void let_outlive() { outlives_ = true; }
  // The status as in a shell: the exit code, or 128 + signal; nothing while it runs.
  std::optional<int> ended();
  // The same after kExited; nothing of the group is left running.
  int exit_code();

 private:
  void wait_exit(Clock::time_point deadline) const;
  void reap(int flags);
  int status() const;

  pid_t pid_;  // -1: moved away
  bool group_;
  Fd exit_fd_;
  int status_ = 0;
  bool reaped_ = false;
  bool outlives_ = false;
};

// Texts that a child reads as files: they lie in memory alone, and neither the list of processes nor a folder
// shows them. The first is at path(0), as the child sees it.
class SecretFiles {
 public:
  SecretFiles() = default;
  explicit SecretFiles(const std::vector<std::string>& texts);
  static std::string path(std::size_t index);
  // Where they could not be made, the errno.
  int error() const { return error_; }
  const std::vector<Fd>& files() const { return files_; }

 private:
  std::vector<Fd> files_;
  int error_ = 0;
};

// Starts a program that is found by PATH unless it is a path, and answers 0 or the errno. It leads a process
// group of its own, so that Ctrl-C in the terminal reaches only us and we end it in order, and gets its
// signals as a fresh program expects them. `in` -1: it reads nothing. `terminal`: the path of one that is to
// be its own, where it asks a person (/dev/tty); it then leads a session, too.
struct StandardStreams {
  int in;
  int out;
  int err;
  const char* terminal = nullptr;
};
int spawn(const std::string& program, const std::vector<std::string>& words, const StandardStreams& streams,
          char* const* environment, pid_t& pid, const SecretFiles& secrets = {});

// A program and our ends of its standard streams, which do not block.
struct Program {
  Child child;
  Fd in;  // a socket: written with send(MSG_NOSIGNAL), for the program may be gone
  Fd out;
  Fd err;
};
Result<Program> start_program(const std::vector<std::string>& words, const SecretFiles& secrets = {});

}  // namespace railbed

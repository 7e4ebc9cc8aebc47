// Running child processes, forked or started as programs, and the pipes to them.
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
// Makes a connected pair of sockets. The first is our end and does not block. Write to it with
// send(MSG_NOSIGNAL): write() could kill this process with SIGPIPE.
std::optional<std::pair<Fd, Fd>> make_sockets();

// The end of collecting a child's output; kTooMuch means more than kMaxOutput bytes on one stream.
enum class End { kExited, kTimeout, kTooMuch };
Miss miss_of_end(End end);

// A child process. The destructor kills it if it still runs, unless let_outlive() was called, and waits at
// most half a second for its end: a process that hangs in a driver survives SIGKILL.
class Child {
 public:
  using Clock = std::chrono::steady_clock;
  using Streams = std::vector<std::pair<Fd, std::string*>>;

  // `group`: the child leads a process group of its own, which is signalled as a whole.
  Child(pid_t pid, bool group);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) = delete;
  ~Child();

  // Appends the child's output to the strings in `streams` until it exits, writes too much, or the deadline
  // passes.
  End collect(Streams& streams, Clock::time_point deadline);
  // Waits once, until `until` at the latest, and collects the output that came. Returns nullopt if the child
  // neither exited nor wrote too much; then call it again.
  std::optional<End> collect_some(Streams& streams, Clock::time_point until);
  void signal(int number) const;
  void stop() const;
  // The destructor then leaves the child running.
  void let_outlive() { outlives_ = true; }
  // Returns the status as in a shell: the exit code, or 128 + signal; nullopt while the child runs.
  std::optional<int> ended();
  // Returns the same status after kExited. Kills the rest of the child's group.
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

// Texts that a child reads as files. They exist in memory only (memfd_create(2)), so neither the list of
// processes nor a folder shows them. In the child the first text is at path(0).
class SecretFiles {
 public:
  SecretFiles() = default;
  explicit SecretFiles(const std::vector<std::string>& texts);
  static std::string path(std::size_t index);
  // Returns the errno of a failure to make them; 0 on success.
  int error() const { return error_; }
  const std::vector<Fd>& files() const { return files_; }

 private:
  std::vector<Fd> files_;
  int error_ = 0;
};

// Descriptors of a child's standard streams; see spawn().
struct StandardStreams {
  int in;
  int out;
  int err;
  const char* terminal = nullptr;
};
// Starts a program, found by PATH unless it is a path, and returns 0 or an errno. The program leads a process
// group of its own: Ctrl-C in the terminal then reaches only us, and we end the program in order. Its signals
// have their default actions. With `in` -1 it reads /dev/null. `terminal` is the path of a terminal that
// becomes the program's own, where it can ask a person (/dev/tty); the program then leads a session, too.
int spawn(const std::string& program, const std::vector<std::string>& words, const StandardStreams& streams,
          char* const* environment, pid_t& pid, const SecretFiles& secrets = {});

// A running program and our ends of its standard streams. They do not block.
struct Program {
  Child child;
  Fd in;  // a socket: write with send(MSG_NOSIGNAL), because the program may have ended
  Fd out;
  Fd err;
};
Result<Program> start_program(const std::vector<std::string>& words, const SecretFiles& secrets = {});

// Starts the program of this process once more, with these words, in a process that belongs to no terminal, no session
// and no parent. The standard streams are /dev/null.
Result<void> start_detached(const std::vector<std::string>& words);

// Gives this process the lowest priority, and has the kernel end it before any other if memory is used up.
void yield_to_others();

}  // namespace railbed

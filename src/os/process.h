// Runs programs and functions in child processes with a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/reading.h"
#include "os/child.h"

namespace railbed {

// The result of a program that ran.
struct CommandOutput {
  int exit_code = 0;  // 128 + signal if the command was killed
  std::string output;
  std::string error_output;
  bool operator==(const CommandOutput&) const = default;
};

inline constexpr std::size_t kMaxOutput = 4 << 20;

// Returns the path of the program that run_program() would start; empty if there is none. When we are root, a
// program found by PATH is skipped if another user could change it. A name with a slash is returned
// unchecked.
std::string find_program(const std::string& name);

// Runs a program without a shell, found by PATH and in the sbin folders. It gets LC_ALL=C, no input, and a
// process group of its own, which is killed at the deadline, when a stop is requested, or when a stream
// exceeds kMaxOutput bytes. A program killed by a stop returns a value, like any other program that a signal
// ended.
Reading<CommandOutput> run_program(const std::vector<std::string>& words, std::chrono::milliseconds deadline,
                                   std::stop_token stop = {}, const SecretFiles& secrets = {});

// Reports a step before it is taken. If the step does not return, the Miss names it.
using Say = std::function<void(std::string_view step)>;

// Runs `answer` in a forked child and returns its result: for libraries that may hang in a driver or crash.
// After a failure the Miss names the last reported step. A child that cannot even be killed is abandoned
// instead of waited for. The kernel kills the child if the thread that started it ends.
Reading<std::string> ask_in_child(std::string_view name,
                                  const std::function<std::string(const Say& about_to)>& answer,
                                  std::chrono::milliseconds deadline);

// The child's way to report to its parent during long work. Thread-safe: a line is written whole.
struct Tell {
  Say about_to;
  Say result;  // one line, passed on at once
};
// Receives the reports of a child in the parent.
struct ChildListener {
  Say step;
  Say result;   // one result line of the child
  Say printed;  // what libraries wrote to its stdout and stderr, in pieces as they came
};
// The reason why a child did not finish.
struct ChildMiss : Miss {
  bool killed = false;  // by SIGKILL, as the kernel does when memory has run out
};
// Like ask_in_child(), for work that reports piece by piece. `patience` is the time limit for each step: it
// restarts with each step and each result. Returns nullopt when the work is done. A kTimeout miss names the
// step that did not return, or has the text "stopped".
std::optional<ChildMiss> follow_child(const std::function<void(const Tell& tell)>& work,
                                      const ChildListener& listener, std::chrono::milliseconds patience,
                                      const std::stop_token& stop = {});

}  // namespace railbed

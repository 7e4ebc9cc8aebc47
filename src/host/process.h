// Child processes with a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/reading.h"
#include "host/child.h"
#include "host/host.h"

namespace railbed {

inline constexpr std::size_t kMaxOutput = 4 << 20;

// Returns where run_program() would find it; empty: nowhere. Root runs no program that another user could
// change.
std::string find_program(const std::string& name);

// Runs a program found by PATH and in the sbin folders, without a shell: LC_ALL=C, no input, a process group
// of its own that is killed at the deadline, when a stop is requested or when more than kMaxOutput bytes
// come. What was killed by a stop is a value like any other program that a signal ended.
Reading<CommandOutput> run_program(const std::vector<std::string>& words, std::chrono::milliseconds deadline,
                                   std::stop_token stop = {}, const SecretFiles& secrets = {});

// What the child is about to do; should that not come back, it is named.
using Say = std::function<void(std::string_view step)>;

// Runs `answer` in a forked child and returns what it answered: for libraries that may hang in a driver or
// crash. The Miss then names the last step. A child that cannot even be killed is left behind rather than
// waited for; none outlives us.
Reading<std::string> ask_in_child(std::string_view name,
                                  const std::function<std::string(const Say& about_to)>& answer,
                                  std::chrono::milliseconds deadline);

// How a child that works long speaks to its parent. Thread-safe: a line is written whole.
struct Tell {
  Say about_to;
  Say result;  // one line, handed on at once
};
struct ChildListener {
  Say step;
  Say result;   // a line of the child's
  Say printed;  // what libraries wrote to its stdout and stderr, in pieces as they came
};
// Why a child did not come to its end.
struct ChildMiss : Miss {
  bool killed = false;  // as the kernel does where memory has run out
};
// As ask_in_child(), for work that answers piece by piece: the patience starts anew with each step and each
// result. Nothing when the work came to its end; kTimeout names the step that did not come back, or says
// "stopped".
std::optional<ChildMiss> follow_child(const std::function<void(const Tell& tell)>& work,
                                      const ChildListener& listener, std::chrono::milliseconds patience,
                                      const std::stop_token& stop = {});

}  // namespace railbed

// Calls device libraries that may hang in the kernel, crash, or print anything.
//
// Each call forks a child; the library is opened there and nowhere else. The child keeps two of our
// descriptors: one for the result, and one for the step that it is about to take, which it writes before each
// call. If it does not finish in time, the last step names the call that hangs, which is what a person needs
// to know. All other descriptors are closed, because a hung child would otherwise keep the pipes of its
// siblings open. The library's own output goes to /dev/null, or to the listener of follow_child().
//
// A child that hangs is killed. If it hangs in a driver that has no effect: SIGKILL waits until the kernel
// call returns. So the parent waits at most half a second (child.cc) and then abandons the child, which ends
// when the driver returns. No child outlives its parent for another reason: the kernel kills it when the
// thread that forked it ends. follow_child() does the same for long work: its patience restarts with each
// step and each result, so that it limits a single call and not the whole.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "os/child.h"
#include "os/errno_name.h"
#include "os/process.h"
#include "os/wait.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

// The child's descriptors after keep_only().
constexpr int kAnswer = 3;
constexpr int kSteps = 4;

// Keeps only these descriptors: a child that may hang must not hold those of other threads' children. The
// library's output goes to `printed`, or to /dev/null if that is empty. Ctrl-C ends the child like any
// program.
void keep_only(const Fd& answer, const Fd& steps, const Fd& printed) {
  constexpr int kOutOfTheWay = 16;
  const int answer_copy = fcntl(answer.get(), F_DUPFD, kOutOfTheWay);
  const int steps_copy = fcntl(steps.get(), F_DUPFD, kOutOfTheWay);
  const int null = fcntl(open("/dev/null", O_RDWR), F_DUPFD, kOutOfTheWay);
  const int out = printed ? fcntl(printed.get(), F_DUPFD, kOutOfTheWay) : null;
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  dup2(answer_copy, kAnswer);
  dup2(steps_copy, kSteps);
  close_range(static_cast<unsigned>(kSteps) + 1, ~0U, 0);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD})
    signal(signal_number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

struct Ends {
  Pipe answer;
  Pipe steps;
  Pipe printed;
};

// Forks and runs `work` in the child; its return value decides the exit code. Returns the child's pid.
pid_t fork_child(const Ends& ends, const std::function<bool()>& work) {
  const pid_t parent = getpid();
  std::fflush(stdout);  // or the child would print it again
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  keep_only(ends.answer.write_end, ends.steps.write_end, ends.printed.write_end);
  _exit(work() ? 0 : 1);
}

void say_step(std::string_view step) {
  if (!write_all(kSteps, std::string(step) + "\n")) _exit(1);
}

std::string last_step(std::string_view steps) {
  const auto end = steps.rfind('\n');
  if (end == std::string_view::npos) return "";
  steps = steps.substr(0, end);
  return std::string(steps.substr(steps.rfind('\n') + 1));
}

ChildMiss miss_of_child(End end, Child& child, const std::string& step) {
  if (end == End::kTimeout && !step.empty()) return {{Missing::kTimeout, step}};
  if (end != End::kExited) return {miss_of_end(end)};
  const std::string in = step.empty() ? "" : " in " + step;
  const int code = child.exit_code();
  if (code == 128 + SIGKILL)
    return {{Missing::kGarbled, "the process that asked the library was killed" + in}, true};
  return {{Missing::kGarbled, fmt::format("the library ended the process that asked it ({}){}", code, in)}};
}

// Passes each complete line to `listener` and keeps the rest in `text`. Returns whether there was one.
bool hand_on(std::string& text, const Say& listener) {
  const auto end = text.rfind('\n');
  if (end == std::string::npos) return false;
  std::string_view whole = std::string_view(text).substr(0, end + 1);
  while (!whole.empty()) {
    const auto line = whole.find('\n');
    listener(whole.substr(0, line));
    whole.remove_prefix(line + 1);
  }
  text.erase(0, end + 1);
  return true;
}

}  // namespace

Reading<std::string> ask_in_child(std::string_view name,
                                  const std::function<std::string(const Say& about_to)>& answer,
                                  std::chrono::milliseconds deadline) {
  const std::string from(name);
  auto answers = make_pipe();
  auto step_pipe = make_pipe();
  if (!answers || !step_pipe) return {miss_of(errno), from};
  Ends ends{std::move(*answers), std::move(*step_pipe), {}};
  const pid_t pid = fork_child(ends, [&] { return write_all(kAnswer, answer(say_step)); });
  if (pid < 0) return {miss_of(errno), from};
  Child child(pid, false);
  ends.answer.write_end.reset();
  ends.steps.write_end.reset();
  std::string text;
  std::string steps;
  Child::Streams streams;
  streams.emplace_back(std::move(ends.answer.read_end), &text);
  streams.emplace_back(std::move(ends.steps.read_end), &steps);
  const End end = child.collect(streams, Clock::now() + deadline);
  if (end != End::kExited || child.exit_code() != 0)
    return {miss_of_child(end, child, last_step(steps)), from};
  return {std::move(text), from};
}

std::optional<ChildMiss> follow_child(const std::function<void(const Tell& tell)>& work,
                                      const ChildListener& listener, std::chrono::milliseconds patience,
                                      const std::stop_token& stop) {
  auto answers = make_pipe();
  auto step_pipe = make_pipe();
  auto prints = make_pipe();
  if (!answers || !step_pipe || !prints) return ChildMiss{miss_of(errno)};
  Ends ends{std::move(*answers), std::move(*step_pipe), std::move(*prints)};
  const pid_t pid = fork_child(ends, [&] {
    work({say_step, [](std::string_view line) {
            if (!write_all(kAnswer, std::string(line) + "\n")) _exit(1);
          }});
    return true;
  });
  if (pid < 0) return ChildMiss{miss_of(errno)};
  Child child(pid, false);
  for (Pipe* pipe : {&ends.answer, &ends.steps, &ends.printed}) pipe->write_end.reset();
  std::string results;
  std::string steps;
  std::string printed;
  Child::Streams streams;
  streams.emplace_back(std::move(ends.answer.read_end), &results);
  streams.emplace_back(std::move(ends.steps.read_end), &steps);
  streams.emplace_back(std::move(ends.printed.read_end), &printed);
  std::string step;
  for (auto deadline = Clock::now() + patience;;) {
    const auto end = child.collect_some(
        streams, std::min(deadline, Clock::now() + std::chrono::milliseconds(kPollSliceMs)));
    bool heard = hand_on(steps, [&](std::string_view line) { listener.step(step = line); });
    heard = hand_on(results, listener.result) || heard;
    if (!printed.empty()) listener.printed(std::exchange(printed, {}));
    if (heard) deadline = Clock::now() + patience;
    if (end == End::kExited && child.exit_code() == 0) return std::nullopt;
    if (end) return miss_of_child(*end, child, step);
    if (stop.stop_requested()) return ChildMiss{{Missing::kTimeout, "stopped"}};
    if (Clock::now() >= deadline) return miss_of_child(End::kTimeout, child, step);
  }
}

}  // namespace railbed

#include "fleet/prepared_launcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "fleet/frame.h"
#include "os/process.h"

namespace railbed::fleet {
namespace {

constexpr int kNoSuchProgram = 127;  // env(1)

// Removes kubectl's log lines: "E1125 07:21:29.401749   31690 memcache.go:265] …".
std::string without_log(std::string_view said) {
  std::string rest;
  for (const std::string_view line : lines(said)) {
    const bool logged = line.size() > 5 && std::string_view("EWIF").find(line[0]) != std::string_view::npos &&
                        std::ranges::all_of(line.substr(1, 4), is_digit) && line[5] == ' ';
    if (!logged) rest.append(line).append("\n");
  }
  return rest;
}

}  // namespace

Result<std::vector<std::string>> PreparedLauncher::words(const Target& target, const std::string& script,
                                                         const Waker& waker, const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (!prepared_) {
    if (const auto done = prepare(waker, stop); !done) failure_ = done.error();
    prepared_ = true;
  }
  if (failure_) return fail(at_node(target.name, *failure_));
  if (const auto refused = refused_.find(target.name); refused != refused_.end())
    return fail(at_node(target.name, {ErrorKind::kUnavailable, refused->second}));
  return node_words(target.name, script);
}

Result<std::string> ask_scheduler(std::string_view program, const std::vector<std::string>& words,
                                  std::string_view missing, const std::stop_token& stop) {
  const auto done = run_program(words, kSchedulerDeadline, stop);
  if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "cancelled");
  if (!done.ok() && !done.absent()) return fail(ErrorKind::kUnavailable, describe(done.miss(), program));
  if (!done.ok() || done->exit_code == kNoSuchProgram)
    return fail(ErrorKind::kUnavailable, std::string(missing));
  if (done->exit_code == 0) return done->output;
  return fail(ErrorKind::kUnavailable,
              fmt::format("{}: {}", program, quotable(without_log(done->error_output))));
}

}  // namespace railbed::fleet

#include "cli/learn.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/moment.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "host/files.h"
#include "inventory/amend.h"
#include "report/escape.h"
#include "verify/learn.h"

namespace railbed {
namespace {

// The lines that differ; additions leave one stretch of them, or two.
std::string diff(std::string_view before, std::string_view after) {
  auto old_lines = split(before, '\n');
  auto new_lines = split(after, '\n');
  std::string text;
  std::size_t at = 0;
  for (const std::string_view line : new_lines) {
    if (at < old_lines.size() && old_lines[at] == line) {
      ++at;
      continue;
    }
    const bool replaces = at < old_lines.size() && at + 1 <= old_lines.size() && !old_lines[at].empty() &&
                          line.starts_with(old_lines[at].substr(0, old_lines[at].find('}')));
    if (replaces) text += fmt::format("-{}\n", old_lines[at++]);
    text += fmt::format("+{}\n", line);
  }
  return text;
}

bool confirmed(const std::string& file) {
  fmt::print("Write it to {}? [y/N] ", file);
  std::fflush(stdout);
  char answer[16] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y');
}

// The file that a symbolic link leads to is the one that changes, and it keeps its mode.
Result<void> replace(const std::string& file, const std::string& text) {
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::canonical(file, problem);
  struct stat status = {};
  if (problem || stat(real.c_str(), &status) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot find {} any more", file));
  return write_file(real, text, status.st_mode & 07777);
}

}  // namespace

int run_learn(const std::string& file, const Evidence& evidence, const Verdict& verdict, bool yes) {
  const auto learnt = learn(evidence, verdict);
  if (!learnt) return report(learnt.error());
  const auto before = read_file(file);
  if (!before) return report(before.error());
  const std::string comment = fmt::format("learnt from {} of {} node{} on {}", learnt->nodes, learnt->all,
                                          learnt->all == 1 ? "" : "s", utc_now().substr(0, 10));
  const auto amended = add_expectations(*before, file, learnt->expect, comment);
  if (!amended) return report(amended.error());
  for (const std::string& one : learnt->left_out) fmt::print("left out: {}\n", printable(one));
  if (amended->added.empty()) {
    fmt::print("{}: nothing new to learn\n", file);
    return kExitClean;
  }
  fmt::print("{}", diff(*before, amended->text));
  const bool asked = !yes && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  if (!yes && !asked) {
    fmt::print("nothing was written: --yes writes it\n");
    return kExitClean;
  }
  if (asked && !confirmed(file)) {
    fmt::print("nothing was written\n");
    return kExitClean;
  }
  if (const auto written = replace(file, amended->text); !written) return report(written.error());
  fmt::print("wrote {}\n", file);
  return kExitClean;
}

}  // namespace railbed

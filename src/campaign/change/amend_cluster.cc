#include "campaign/change/amend_cluster.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "inventory/amend.h"
#include "verify/learn.h"

namespace railbed {
namespace {

// Returns the lines that differ, with - and + before them. Reads both texts once and in parallel, which is
// enough here: `after` only has added lines, and lines that begin like the one they replace, up to its '}'.
std::string difference(std::string_view before, std::string_view after) {
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

}  // namespace

Result<Amendment> propose_amendment(const std::string& file, const Evidence& evidence, const Verdict& verdict,
                                    const std::string& day) {
  const auto learnt = learn(evidence, verdict);
  if (!learnt) return tl::unexpected<Error>(learnt.error());
  const auto before = read_file(file);
  if (!before) return tl::unexpected<Error>(before.error());
  const std::string comment = fmt::format("learnt from {} of {} node{} on {}", learnt->nodes, learnt->all,
                                          learnt->all == 1 ? "" : "s", day);
  const auto amended = add_expectations(*before, file, learnt->expect, comment);
  if (!amended) return tl::unexpected<Error>(amended.error());
  Amendment amendment{learnt->left_out, {}, {}};
  if (amended->added.empty()) return amendment;
  amendment.text = amended->text;
  amendment.difference = difference(*before, amended->text);
  return amendment;
}

Result<void> write_amendment(const std::string& file, const Amendment& amendment) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot find {} any more", file));
  return write_file(file, amendment.text, status.st_mode & 07777);
}

}  // namespace railbed

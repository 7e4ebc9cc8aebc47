// A support report in the form of a machine: the files that it copied, at their paths, and the contents of
// its texts about /sys and the libraries, at the paths where collectors look. Anything else stays a gap
// (host/tree.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"
#include "host/tree.h"

namespace railbed {

inline constexpr std::string_view kNotInReport = "not in this report";
inline Miss not_in_report() { return {Missing::kUnknown, std::string(kNotInReport)}; }

class ReportTree {
 public:
  // Adds a copy of the machine's own file. The first entry of a path wins, so copies must be added before
  // entries that are rebuilt from texts.
  void copy(std::string_view path, std::string content);
  void link(std::string_view path, std::string target);
  // Adds a file of one line, like those of /sys, unless the path exists.
  void line(std::string_view path, std::string_view value);
  // Records that a path is known to be absent.
  void nothing(std::string_view path);
  // Records that a folder is complete: entries missing in it are absent, not unknown.
  void whole(std::string_view path);

  void command(std::string_view words, std::string output);
  void call(std::string_view name, std::string answer);
  void failed_call(std::string_view name, Miss miss);

  // Records why a text that was recognised gives no fact, or not all of its facts: "`nvidia-smi -L`: …".
  void leave_out(std::string why) { left_out_.push_back(std::move(why)); }
  const std::vector<std::string>& left_out() const { return left_out_; }

  bool has(std::string_view path) const { return bool(tree_.node(path)); }
  bool has_call(std::string_view name) const { return tree_.calls.contains(name); }
  std::string text(std::string_view path) const;  // content of a file; empty if there is none
  std::vector<std::string> names(std::string_view folder) const;
  std::string resolved(std::string_view path) const { return tree_.resolve(path).value_or(""); }

  Tree tree() && { return std::move(tree_); }
  Gaps gaps() const { return gaps_; }
  bool empty() const { return tree_.size() <= 1 && tree_.commands.empty() && tree_.calls.empty(); }

 private:
  void set(std::string_view path, TreeEntry entry);

  Tree tree_;
  std::vector<std::string> left_out_;
  Gaps gaps_{std::string(kNotInReport), {}};
};

}  // namespace railbed

// A support report as a machine: the files it copied where they stood, and what its texts tell of /sys and of
// the libraries, put where the collectors look. What it does not tell stays a gap (host/tree.h).
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
  // A copy of the machine's own file stands above whatever is rebuilt of texts.
  void copy(std::string_view path, std::string content);
  void link(std::string_view path, std::string target);
  // A file of one line, as /sys has them.
  void line(std::string_view path, std::string_view value);
  // Known not to be there.
  void nothing(std::string_view path);
  // A folder of which all is told.
  void whole(std::string_view path);

  void command(std::string_view words, std::string output);
  void call(std::string_view name, std::string answer);

  bool has(std::string_view path) const { return bool(tree_.node(path)); }
  std::string text(std::string_view path) const;  // of a file that is there; else empty
  std::vector<std::string> names(std::string_view folder) const;
  std::string resolved(std::string_view path) const { return tree_.resolve(path).value_or(""); }

  Tree tree() && { return std::move(tree_); }
  Gaps gaps() const { return gaps_; }

 private:
  void set(std::string_view path, TreeEntry entry);

  Tree tree_;
  Gaps gaps_{std::string(kNotInReport), {}};
};

}  // namespace railbed

// What is taken in of an archive or a folder, within the bounds of a support report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/support/sent.h"

namespace railbed {

class Intake {
 public:
  Intake(std::string from, const SentLimits& limits) : from_(std::move(from)), limits_(limits) {}

  // The path as it is kept, once it is known to stay inside; counts as one entry.
  Result<std::string> path(std::string_view name);
  Result<void> file(const std::string& path, SentFile file);
  Result<void> link(const std::string& path, std::string target);
  std::size_t largest() const { return limits_.file; }
  std::size_t largest_single() const { return limits_.kept; }
  tl::unexpected<Error> refuse(std::string_view why) const;
  Sent sent() && { return std::move(sent_); }

 private:
  Result<void> count(std::size_t bytes);

  std::string from_;
  const SentLimits& limits_;
  Sent sent_;
  std::size_t entries_ = 0;
  std::size_t kept_ = 0;
};

// Whether any fact can come from it: logs of a week, users' files and programs are not even kept.
bool is_part_of_a_report(std::string_view path);

}  // namespace railbed

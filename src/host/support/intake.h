// Collects the files of an archive or a folder, within the limits of a support report.
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

  // Checks that a name stays inside the archive and returns it in the form in which it is kept. Counts one
  // entry.
  Result<std::string> path(std::string_view name);
  // Keep a file or a link. Return an error once the kept bytes exceed the limit.
  Result<void> file(const std::string& path, SentFile file);
  Result<void> link(const std::string& path, std::string target);
  void leave_out(std::string path, std::string why) {
    sent_.unread.push_back({std::move(path), std::move(why)});
  }
  // Limits in bytes: for a file in an archive, and for a file without an archive around it.
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

// Returns true if there is no zero byte in the first 4 KiB.
bool is_text(std::string_view content);
inline constexpr std::string_view kNotText = "not text";

// Returns whether a file may hold a fact. Others (the logs of a week, users' files, programs) are not even
// kept.
bool is_part_of_a_report(std::string_view path);

}  // namespace railbed

// NCCL's version number, as written in its log, by its package and by people.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace railbed::nccl {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  // Parses "2.28.9+cuda13.0", "2.28.9-1", "2.28.9" or "2.28". Ignores the text after the numbers.
  static std::optional<Version> parse(std::string_view text);
  std::string to_text() const;  // "2.28.9"; "2.28" if the patch is 0
  auto operator<=>(const Version&) const = default;
};

// The newest version whose variables and log format this room supports.
inline constexpr Version kNewestKnown{2, 30, 7};

}  // namespace railbed::nccl

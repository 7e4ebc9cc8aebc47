// NCCL's version number, as its log, its package and people write it.
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
  // "2.28.9+cuda13.0", "2.28.9-1", "2.28.9", "2.28". What follows the numbers is ignored.
  static std::optional<Version> parse(std::string_view text);
  std::string to_text() const;  // "2.28.9"; "2.28" when the patch is 0
  auto operator<=>(const Version&) const = default;
};

// The newest version whose variables and log this room knows.
inline constexpr Version kNewestKnown{2, 30, 7};

}  // namespace railbed::nccl

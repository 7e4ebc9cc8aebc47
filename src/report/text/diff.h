// Two texts as a unified diff with three lines around each difference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// Compares two versions of a file; nullopt: there is no file. The result is printable. Long texts with large
// differences are shown as fully removed and fully new.
std::string unified_diff(std::string_view path, const std::optional<std::string>& before,
                         const std::optional<std::string>& after);

}  // namespace railbed

// Two texts as a unified diff, three lines around each difference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railbed {

// None: the file is not there. Very different long texts are shown as all gone and all new.
std::string unified_diff(std::string_view path, const std::optional<std::string>& before,
                         const std::optional<std::string>& after);

}  // namespace railbed

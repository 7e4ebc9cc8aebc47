// errno values as the rest of railbed sees them: a Miss with the system's own words, or a name in a tree
// file.
#pragma once

#include <optional>
#include <string_view>

#include "base/reading.h"

namespace railbed {

Miss miss_of(int error);
// The errno that miss_of() made this from; EINVAL when it came from elsewhere.
int error_of(const Miss& miss);

std::string_view error_name(int error);  // "EINVAL"; empty for a number that has no name
std::optional<int> error_by_name(std::string_view name);

}  // namespace railbed

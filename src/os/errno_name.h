// Converts errno values for the rest of railbed: to a Miss with the system's message, and to a name in a tree
// file.
#pragma once

#include <optional>
#include <string_view>

#include "base/reading.h"

namespace railbed {

Miss miss_of(int error);
// Returns the errno from which miss_of() made `miss`; EINVAL if it was made otherwise.
int error_of(const Miss& miss);

std::string_view error_name(int error);  // "EINVAL"; empty for a number without a name
std::optional<int> error_by_name(std::string_view name);

}  // namespace railbed

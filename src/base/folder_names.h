// The names in an open folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace railbed {

// Returns at most `most` names in the folder, sorted, without "." and "..", and closes it; nullopt with errno if it cannot
// be read. A folder that is needed further is opened again for it: reopened().
std::optional<std::vector<std::string>> folder_names(Fd folder, std::size_t most = SIZE_MAX);

// Opens the folder once more for reading, whatever its descriptor is for.
Fd reopened(int folder);

}  // namespace railbed

// How many files this process may have open.
#pragma once

#include <cstddef>

namespace railbed {

// Raises the limit to so many, or to what it may be raised to (setrlimit(2)); never lowers it.
void allow_open_files(std::size_t count);

}  // namespace railbed

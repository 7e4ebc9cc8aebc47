// The limit on open files of this process.
#pragma once

#include <cstddef>

namespace railbed {

// Raises the limit to `count`, or to the hard limit if that is lower (setrlimit(2)); never lowers it.
void allow_open_files(std::size_t count);

}  // namespace railbed

// The places of NVIDIA's libraries that the loader may not know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/library.h"

namespace railbed {

// Returns the files that match a pattern of the shell, in the shell's order.
std::vector<std::string> matching_files(const std::string& pattern);
// Returns the files that pip installed: those that match `pattern` in site-packages of $VIRTUAL_ENV,
// $CONDA_PREFIX, the home folder and the system.
std::vector<std::string> beside_python(std::string_view pattern);

// Returns the loader's error text and the other files that were tried.
std::string not_opened(const Library& library, const std::vector<std::string>& files);

}  // namespace railbed

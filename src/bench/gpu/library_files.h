// Where libraries of NVIDIA's lie that no package may have told the loader of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/library.h"

namespace railbed {

// Files that match, in the order of the shell.
std::vector<std::string> matching_files(const std::string& pattern);
// Of what pip installed: `pattern` within site-packages of $VIRTUAL_ENV, $CONDA_PREFIX, the home folder and
// the system.
std::vector<std::string> beside_python(std::string_view pattern);

// The loader's words, and where else was looked.
std::string not_opened(const Library& library, const std::vector<std::string>& files);

}  // namespace railbed

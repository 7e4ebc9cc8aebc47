// The name of this machine: gethostname(2).
#pragma once

#include <string>

namespace railbed {

// Returns the name; empty if the kernel has none.
std::string host_name();

}  // namespace railbed

// What this machine calls itself: gethostname(2).
#pragma once

#include <string>

namespace railbed {

// Empty when the kernel does not say.
std::string host_name();

}  // namespace railbed

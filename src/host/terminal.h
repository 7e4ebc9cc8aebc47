// Programs that speak with a person, and so hold back what they say to anything but a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/child.h"

namespace railbed {

// Starts it at a terminal of its own, which is raw: no echo, no change of line ends. `in` and `out` are our
// end of it; `err` is a pipe.
Result<Program> start_in_terminal(const std::vector<std::string>& words, const SecretFiles& secrets = {});

}  // namespace railbed

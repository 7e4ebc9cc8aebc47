// The secret that all ranks of one user share.
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// Returns the value of RAILBED_SECRET, which must have at least 16 characters. Without it, returns the
// content of $XDG_STATE_HOME/railbed/rank-secret (~/.local/state/…), which is created with mode 0600 if it is
// missing. Ranks on hosts without a common home folder therefore need the variable.
Result<std::string> find_rank_secret(const Environment& environment);

}  // namespace railbed::fleet

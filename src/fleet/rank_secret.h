// What all ranks of one user know and others do not.
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// RAILBED_SECRET, of 16 characters at least; else what lies in $XDG_STATE_HOME/railbed/rank-secret
// (~/.local/state/…), which is made for its user alone where it is missing. Ranks on hosts that share no home
// folder thus need the variable.
Result<std::string> find_rank_secret(const Environment& environment);

}  // namespace railbed::fleet

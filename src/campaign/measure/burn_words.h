// Parses the phases and drills of a burn-in, as a person writes them.
#pragma once

#include <string>

#include "base/result.h"
#include "results/burn.h"

namespace railbed {

// Parses "bf16" and "bf16:30".
Result<BurnShare> parse_burn_share(const std::string& text);
// Parses "wrong-result:0@30" and "slow:1:5".
Result<BurnDrill> parse_burn_drill(const std::string& text);

}  // namespace railbed

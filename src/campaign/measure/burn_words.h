// What a person writes of a burn-in's phases and drills.
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

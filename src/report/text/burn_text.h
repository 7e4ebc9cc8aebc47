// A burn-in as text: rates by kind of GPU, findings, and a line for each GPU.
#pragma once

#include <string>
#include <string_view>

#include "results/burn.h"

namespace railbed {

// Returns "691 W" or "11.0 kW".
std::string watts_text(double watts);

// Returns the whole report. Of more than a few GPUs only those with a finding are listed, unless `all`. `what` begins
// the first line: "burn-in of 8 GPUs on 1 node, 10 min: nothing wrong was found".
std::string burn_text(const BurnReport& report, bool all, std::string_view what = "burn-in");

// Returns the present state in one line: "12 min left: 16 GPUs on 2 nodes, 11.0 kW, bf16; 1 GPU gave wrong results".
std::string burn_line(const BurnReport& report, double left);

}  // namespace railbed

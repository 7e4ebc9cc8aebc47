// What `railbed bench pairs` found on one rail, for people.
#pragma once

#include <string>
#include <vector>

#include "report/heat_map.h"
#include "results/measurement.h"
#include "results/pairs.h"

namespace railbed {

HeatMap heat_map_of(const RailReport& rail);
// "gpu07 sends at 26 % of what the others reach".
std::string slow_sentence(const RailReport& rail, const Slow& one);
std::string pairs_text(const RailReport& rail);

}  // namespace railbed

// Measurements of one pair as a table: every size, what it is of its ceiling, and how that was computed.
#pragma once

#include <string>
#include <vector>

#include "facts/measurement.h"

namespace railbed {

std::string bench_table(const std::vector<Measurement>& measurements);

}  // namespace railbed

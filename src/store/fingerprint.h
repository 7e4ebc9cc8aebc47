// What nodes were made of when a run measured them.
#pragma once

#include <string_view>

#include "results/run.h"

namespace railbed {

struct Facts;

// Adds what of `facts` may change a measurement: hardware, firmware, software. Unreadable facts are left out.
void add_fingerprint(BenchRun& run, std::string_view node, const Facts& facts);

}  // namespace railbed

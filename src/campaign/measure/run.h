// The request that every measuring campaign gets for its run, and the start of that run.
#pragma once

#include <map>
#include <string>

#include "results/run.h"

namespace railbed {

struct RunRequest {
  std::string command;                       // the command line without "railbed"
  std::map<std::string, std::string> asked;  // non-default options that can change a number
  std::string label;
  int repeat = 1;  // number of measurements of everything, each from the start
};

// The value of "defaults" in `asked`, for all options that it does not name. It increases when a default
// changes, so that runs from before and after are not treated as equal.
inline constexpr const char* kDefaults = "1";

// Returns a run that starts now.
BenchRun begin_run(const RunRequest& request);

// Appends measurements to the run.
void add_measurements(BenchRun& run, std::vector<Measurement> measured);

}  // namespace railbed

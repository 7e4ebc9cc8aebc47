// What every campaign that measures is told of the run that it makes, and how that run begins.
#pragma once

#include <map>
#include <string>

#include "results/run.h"

namespace railbed {

struct RunRequest {
  std::string command;                       // as it could be typed again, without "railbed"
  std::map<std::string, std::string> asked;  // what of it can change a number, where it is no default
  std::string label;
  int repeat = 1;  // measure everything so many times, each from the start
};

// What stands for all choices that `asked` does not name, under "defaults": it counts up when a default
// changes, so that runs from before and after are not taken for equals.
inline constexpr const char* kDefaults = "1";

// A run that starts now.
BenchRun begin_run(const RunRequest& request);

// Puts measurements at the run's end.
void add_measurements(BenchRun& run, std::vector<Measurement> measured);

}  // namespace railbed

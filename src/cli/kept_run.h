// What every `railbed bench` whose runs are kept has in common: repeats, label, history, baseline.
#pragma once

#include <string>
#include <vector>

#include "results/measurement.h"
#include "results/run.h"

namespace CLI {
class App;
}

namespace railbed {

struct KeepOptions {
  int repeat = 1;
  std::string label;
  std::string baseline;  // the run to compare with; empty: none
  std::string store;
  bool forget = false;
};

// --repeat, --label, --baseline, --store and --no-store, bound to `options`, which must outlive the parsing.
void add_keep_options(CLI::App& app, KeepOptions& options);

// A run that starts now; `command`: as the user could type it again, without "railbed".
BenchRun begin_run(const KeepOptions& options, std::string command);

// Keeps the run and holds it against the baseline; the verdict goes to stderr where stdout is one JSON
// document. The exit code: failures when a measurement failed, else the comparison's, clean without one.
int end_run(const KeepOptions& options, BenchRun& run, bool json);

}  // namespace railbed

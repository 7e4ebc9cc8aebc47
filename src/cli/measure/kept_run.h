// Options and actions of every command whose runs are kept: repeats, label, history, baseline.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/measure/run.h"

namespace CLI {
class App;
}

namespace railbed {

struct KeepOptions {
  int repeat = 1;
  std::string label;
  std::string baseline;  // the run to compare with; empty if there is none
  std::string store;
  bool forget = false;
};

// Adds `--store FILE`, bound to `path`; empty means the user's own history.
void add_store_option(CLI::App& app, std::string& path);
// Adds --label, --store and --no-store, bound to `options`, which must outlive the parsing.
void add_history_options(CLI::App& app, KeepOptions& options);
// Adds these, --repeat and --baseline.
void add_keep_options(CLI::App& app, KeepOptions& options);

// Checks, before anything is measured, that the named baseline exists and the named history can be opened.
// The user's own history is not checked, because a measurement does not need it.
Result<void> check_keeping(const KeepOptions& options);

// Returns the description of the run that the parsed command makes.
RunRequest request_of(const CLI::App& app, const KeepOptions& options);

// Keeps the run in the history if it has measurements, unless --no-store was given.
void keep(const KeepOptions& options, BenchRun& run);

// Keeps the run and compares it with the baseline; the verdict goes to stderr if stdout is one JSON document.
// Returns the exit code: failures if a measurement failed, else that of the comparison, clean without one.
int end_run(const KeepOptions& options, BenchRun& run, bool json);

}  // namespace railbed

// What every command whose runs are kept has in common: repeats, label, history, baseline.
#pragma once

#include <string>

#include "base/result.h"
#include "campaign/run.h"

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

// `--store FILE`, bound to `path`; empty stands for the user's own history.
void add_store_option(CLI::App& app, std::string& path);
// --label, --store and --no-store, bound to `options`, which must outlive the parsing.
void add_history_options(CLI::App& app, KeepOptions& options);
// These, --repeat and --baseline.
void add_keep_options(CLI::App& app, KeepOptions& options);

// Whether the baseline that was named is there and the history that was named can be opened: asked before
// anything is measured. The user's own history is none of this, for a measurement does not need it.
Result<void> check_keeping(const KeepOptions& options);

// What a campaign is told of the run that the parsed command makes.
RunRequest request_of(const CLI::App& app, const KeepOptions& options);

// Keeps a run that measured something, unless --no-store says not to.
void keep(const KeepOptions& options, BenchRun& run);

// Keeps the run and holds it against the baseline; the verdict goes to stderr where stdout is one JSON
// document. The exit code: failures when a measurement failed, else the comparison's, clean without one.
int end_run(const KeepOptions& options, BenchRun& run, bool json);

}  // namespace railbed

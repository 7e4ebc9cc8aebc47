#include "cli/measure/kept_run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "campaign/measure/history.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "cli/typed_command.h"
#include "report/text/compare_table.h"
#include "store/compare.h"

namespace railbed {
namespace {

int remember(const KeepOptions& options, BenchRun& run, bool json) {
  Result<std::vector<BenchRun>> baseline = std::vector<BenchRun>();
  // The baseline is found before this run is kept, because "last" is the run before it.
  if (!options.baseline.empty()) baseline = find_runs(options.store, options.baseline);
  if (!options.forget) keep_run(options.store, run, terminal_caller());
  if (options.baseline.empty()) return kExitClean;
  if (!baseline) return report(baseline.error());
  const CompareResult result = compare(*baseline, {run}, earlier_runs(options.store, run, terminal_caller()));
  fmt::print(json ? stderr : stdout, "\n{}", compare_table(*baseline, {run}, result, {}));
  return exit_code_of(result.outcome);
}

void add_label_option(CLI::App& app, KeepOptions& options) {
  app.add_option("--label", options.label, "your word for this run: back-to-back, switch");
}

void add_where_options(CLI::App& app, KeepOptions& options) {
  add_store_option(app, options.store);
  app.add_flag("--no-store", options.forget, "do not keep the run in the history");
}

}  // namespace

void add_store_option(CLI::App& app, std::string& path) {
  app.add_option("--store", path, "the history's file (default: ~/.local/state/railbed/runs.sqlite)");
}

void add_history_options(CLI::App& app, KeepOptions& options) {
  add_label_option(app, options);
  add_where_options(app, options);
}

void add_keep_options(CLI::App& app, KeepOptions& options) {
  app.add_option("--repeat", options.repeat, "measure so many times, each from the start (default 1)")
      ->check(between(1, 1000));
  add_label_option(app, options);
  app.add_option("--baseline", options.baseline,
                 "compare with this run (default: the one that `railbed runs baseline` chose)")
      ->expected(0, 1)
      ->default_str("baseline")
      ->option_text("[RUN]");
  add_where_options(app, options);
}

Result<void> check_keeping(const KeepOptions& options) {
  if (!options.baseline.empty())
    RETURN_IF_ERROR(find_runs(options.store, options.baseline, terminal_caller()));
  if (options.forget || options.store.empty()) return {};
  RETURN_IF_ERROR(open_history(options.store));
  return {};
}

RunRequest request_of(const CLI::App& app, const KeepOptions& options) {
  return {typed_command(app), typed_choices(app), options.label, options.repeat};
}

void keep(const KeepOptions& options, BenchRun& run) {
  if (!options.forget && !run.measurements.empty()) keep_run(options.store, run, terminal_caller());
}

int end_run(const KeepOptions& options, BenchRun& run, bool json) {
  const int compared = remember(options, run, json);
  const bool failed =
      std::any_of(run.measurements.begin(), run.measurements.end(),
                  [](const Measurement& measurement) { return measurement.failure.has_value(); });
  return failed ? kExitFailures : compared;
}

}  // namespace railbed

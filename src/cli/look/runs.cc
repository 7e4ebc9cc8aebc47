// railbed runs: the history of benchmark runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/files.h"
#include "base/moment.h"
#include "base/wording.h"
#include "campaign/look/evidence.h"
#include "campaign/measure/history.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/escape.h"
#include "report/text/run_text.h"

namespace railbed {
namespace {

struct RunsOptions {
  std::string store;
  std::string run;
  std::string file;
  std::string older;
  int keep = 50'000;
  int mib = 1024;
  bool dry = false;
  std::function<int(const RunsOptions&)> what;  // the subcommand; the list if there is none
  bool json = false;
};

// A run in the list, also in JSON.
struct Listed {
  std::int64_t id = 0;
  std::string started_at;
  std::string label;
  std::string command;
  bool baseline = false;
  FIELDS(Listed, id, started_at, label, command, baseline);
};
constexpr Document<std::vector<Listed>> kRunsDocument{"railbed-runs", 1, "runs"};
// A run as a file: `railbed runs export` writes it, and `import` reads it.
constexpr Document<BenchRun> kRunDocument{"railbed-run", kRunVersion};

int list(const RunsOptions& options) {
  auto store = open_history(options.store);
  if (!store) return report(store.error());
  const auto runs = store->list();
  if (!runs) return report(runs.error());
  const auto baseline = store->baseline();
  if (!baseline) return report(baseline.error());
  std::vector<Listed> listed;
  constexpr std::size_t kWidestLabel = 40;
  std::size_t label_width = 5;
  for (const BenchRun& run : *runs) {
    listed.push_back({run.id, run.started_at, run.label, run.command, run.id == *baseline});
    label_width = std::clamp(run.label.size(), label_width, kWidestLabel);
  }
  if (options.json) {
    print_document(kRunsDocument, listed);
    return kExitClean;
  }
  if (listed.empty()) fmt::print("No run is kept yet: `railbed bench` keeps what it measures.\n");
  for (const Listed& one : listed)
    fmt::print("{:>6}{} {}  {:<{}}  {}\n", one.id, one.baseline ? '*' : ' ', printable(one.started_at),
               printable(one.label), label_width, printable(one.command));
  if (*baseline) fmt::print("* the baseline\n");
  return kExitClean;
}

int show(const RunsOptions& options) {
  const auto run = find_run(options.store, options.run, terminal_caller());
  if (!run) return report(run.error());
  if (run->asked.contains("tool"))  // the output of another tool
    fmt::print("{}\n", printable(run->command));
  else
    fmt::print("run {}, {}{}{}\nrailbed {}: {}\n", run->id, printable(run->started_at),
               run->label.empty() ? "" : ", ", printable(run->label), printable(run->railbed),
               printable(run->command));
  fmt::print("{}", run_text(*run));
  return kExitClean;
}

int export_run(const RunsOptions& options) {
  const auto run = find_run(options.store, options.run, terminal_caller());
  if (!run) return report(run.error());
  if (options.file.empty() || options.file == "-") {
    print_document(kRunDocument, *run);
    return kExitClean;
  }
  if (const auto written = write_file(options.file, document_text(kRunDocument, *run)); !written)
    return report(written.error());
  return kExitClean;
}

int import_run(const RunsOptions& options) {
  const auto text = read_file(options.file);
  if (!text) return report(text.error());
  const auto run = run_from_json(*text);
  if (!run) return report(wrong_file(run.error(), options.file, "railbed runs export").value());
  auto store = open_history(options.store);
  if (!store) return report(store.error());
  const auto id = store->add(*run);
  if (!id) return report(id.error());
  fmt::print("run {}\n", *id);
  return kExitClean;
}

// The outcome of `railbed runs prune`.
struct PruneReport {
  std::size_t removed = 0;
  std::uint64_t bytes = 0;
  bool dry_run = false;
  FIELDS(PruneReport, removed, bytes, dry_run);
};
constexpr Document<PruneReport> kPruneDocument{"railbed-runs-pruned"};

int prune(const RunsOptions& options) {
  HistoryLimits limits{.runs = static_cast<std::size_t>(options.keep),
                       .bytes = static_cast<std::uint64_t>(options.mib) << 20};
  if (!options.older.empty()) {
    const auto moment = parse_since(options.older, now_unix());
    if (!moment)
      return report(
          {ErrorKind::kBadInput, fmt::format("--older-than {}: write \"90d\" or \"2026-01-19T10:00:00Z\"",
                                             printable(options.older))});
    limits.before = utc_text(*moment);
  }
  auto store = open_history(options.store);
  if (!store) return report(store.error());
  const auto pruned = store->prune(limits, true, options.dry);
  if (!pruned) return report(pruned.error());
  if (options.json)
    print_document(kPruneDocument, {pruned->runs, pruned->bytes, options.dry});
  else
    fmt::print("{}{}, {:.1f} MiB\n", options.dry ? "would remove " : "removed ", counted(pruned->runs, "run"),
               static_cast<double>(pruned->bytes) / (1 << 20));
  return kExitClean;
}

int change(const RunsOptions& options, Result<void> (Store::*action)(std::int64_t)) {
  const auto run = find_run(options.store, options.run, terminal_caller());
  if (!run) return report(run.error());
  auto store = open_history(options.store);
  if (!store) return report(store.error());
  if (const auto done = ((*store).*action)(run->id); !done) return report(done.error());
  return kExitClean;
}

CLI::App* declare_one(CLI::App& app, const std::shared_ptr<RunsOptions>& options, const char* name,
                      const char* help, std::function<int(const RunsOptions&)> what) {
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([options, what = std::move(what)] { options->what = what; });
  add_store_option(*command, options->store);
  return command;
}

}  // namespace

Action declare_runs(CLI::App& app) {
  auto options = std::make_shared<RunsOptions>();
  options->what = list;
  add_store_option(app, options->store);
  add_json_flag(app, options->json, "the list as one JSON document", kRunsDocument, kRunDocument);
  const auto with_run = [&](CLI::App* command) {
    command->add_option("RUN", options->run, "a number, a label, last or baseline")->required();
    return command;
  };
  with_run(declare_one(app, options, "show", "what was measured, and on what", show));
  with_run(declare_one(app, options, "export", "one run as JSON", export_run))
      ->add_option("-o,--output", options->file, "write it there, atomically (default: to stdout)");
  declare_one(app, options, "import", "keep a run that was exported", import_run)
      ->add_option("FILE", options->file, "what `railbed runs export` wrote")
      ->required();
  with_run(declare_one(app, options, "baseline", "compare others with this run from now on",
                       [](const RunsOptions& chosen) { return change(chosen, &Store::set_baseline); }));
  with_run(declare_one(app, options, "remove", "forget a run",
                       [](const RunsOptions& chosen) { return change(chosen, &Store::remove); }));
  CLI::App* pruned = declare_one(app, options, "prune", "forget old runs, and make the file smaller", prune);
  pruned
      ->add_option(
          "--older-than", options->older,
          "those without a label that are older: 90d, or 2026-01-19T10:00:00Z (default: none by their age)")
      ->type_name("AGE");
  pruned
      ->add_option("--keep", options->keep,
                   "keep at most so many: the oldest go first, those with a label last")
      ->check(between(1, 100'000))
      ->capture_default_str();
  pruned->add_option("--mib", options->mib, "keep at most this size of them all")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  pruned->add_flag("--dry-run", options->dry, "remove nothing, but print how much would go");
  add_json_flag(*pruned, options->json, "print one JSON document", kPruneDocument);
  app.footer(
      "\nWithout a subcommand: lists all runs, the newest first.\n\n"
      "railbed runs baseline 12\n"
      "railbed bench rdma gpu01 gpu02 --repeat 5 --baseline\n"
      "railbed runs export last -o today.json\n"
      "railbed runs prune --older-than 365d --dry-run\n\n"
      "Each kept run removes the oldest beyond 50,000 runs or 1 GiB; the baseline stays, and labels go last.");
  return [options] { return options->what(*options); };
}

}  // namespace railbed

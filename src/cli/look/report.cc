// railbed report: the page of earlier findings and measurements; no node is read.
#include "report/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/version.h"
#include "campaign/look/evidence.h"
#include "campaign/measure/history.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/measure/kept_run.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/documents.h"
#include "verify/verify.h"

namespace railbed {
namespace {

struct ReportFlags {
  std::string cluster;
  std::string root;
  std::vector<std::string> facts;
  std::vector<std::string> measurements;
  std::vector<std::string> runs;
  std::string store;
  std::string output = "report.html";
  bool json = false;
  bool all = false;
};

Result<Evidence> read_evidence(const ReportFlags& flags) {
  Evidence evidence;
  if (!flags.cluster.empty()) {
    auto cluster = load_cluster(flags.cluster);
    if (!cluster) return tl::unexpected<Error>(cluster.error());
    evidence.cluster = std::move(*cluster);
  }
  if (!flags.root.empty())
    if (const auto added = add_root(flags.root, evidence, say_to_person); !added)
      return fail(added.error(), "--root");
  for (const std::string& file : flags.facts)
    if (const auto added = add_facts_file(file, evidence); !added)
      return tl::unexpected<Error>(added.error());
  for (const std::string& file : flags.measurements)
    if (const auto added = add_measurements_file(file, evidence); !added)
      return tl::unexpected<Error>(added.error());
  return evidence;
}

// Adds the newest measurement of each subject from the runs, so that rules do not judge a fault that was
// fixed since.
void add_newest(const std::vector<BenchRun>& runs, std::vector<Measurement>& measurements) {
  std::vector<const BenchRun*> newest;
  for (const BenchRun& run : runs) newest.push_back(&run);
  std::ranges::stable_sort(
      newest, [](const BenchRun* a, const BenchRun* b) { return a->started_at > b->started_at; });
  // It holds views into `measurements` and `merged`, neither of which is changed while it lives.
  std::set<MeasuredSubject> known;
  for (const Measurement& measurement : measurements) known.insert(measured_subject(measurement));
  std::vector<std::vector<Measurement>> merged;
  for (const BenchRun* run : newest) merged.push_back(merge_repeats(run->measurements));
  std::vector<Measurement> added;
  for (const std::vector<Measurement>& of_run : merged)
    for (const Measurement& measurement : of_run) {
      if (measurement.engine != Engine::kTcp && measurement.engine != Engine::kRdma)
        continue;  // no rule judges the others
      if (known.insert(measured_subject(measurement)).second) added.push_back(measurement);
    }
  std::ranges::move(added, std::back_inserter(measurements));
}

Result<Report> compose_report(const ReportFlags& flags) {
  auto evidence = read_evidence(flags);
  if (!evidence) return tl::unexpected<Error>(evidence.error());
  Report made;
  made.railbed = railbed_version();
  for (const std::string& word : flags.runs) {
    auto run = find_run(flags.store, word, terminal_caller());
    if (!run) return tl::unexpected<Error>(run.error());
    made.runs.push_back(std::move(*run));
  }
  made.measurements = evidence->measurements;
  add_newest(made.runs, evidence->measurements);
  made.verdict = verify(*evidence);
  made.differences = find_differences(*evidence);
  made.cluster = std::move(evidence->cluster);
  made.facts = std::move(evidence->nodes);
  made.unreachable = std::move(evidence->unreachable);
  made.bmcs = std::move(evidence->bmcs);
  return made;
}

std::optional<Error> refusal(const ReportFlags& flags) {
  if (flags.root.empty() && flags.facts.empty() && flags.measurements.empty() && flags.runs.empty())
    return Error{
        ErrorKind::kBadInput,
        "nothing to show: name trees (--root), facts (--facts), measurements (--measurements) or runs of "
        "the history (--run last); to look at live nodes: railbed prove cluster.yaml"};
  if (flags.json && flags.output == "-")
    return Error{ErrorKind::kBadInput, "--json and the page cannot both go to stdout: name a file with -o"};
  return std::nullopt;
}

int run_report(const ReportFlags& flags) {
  if (const auto error = refusal(flags)) return report(*error);
  const auto made = compose_report(flags);
  if (!made) return report(made.error());
  const std::string page = render_html(*made);
  if (flags.output == "-") {
    fmt::print("{}", page);
    return made->verdict.exit_code();
  }
  if (const auto written = write_file(flags.output, page); !written) return report(written.error());
  if (flags.json) {
    print_result(render_json(*made));
    return made->verdict.exit_code();
  }
  TextOptions options;
  options.colour = use_colour(STDOUT_FILENO);
  options.all = flags.all;
  fmt::print("{}\nreport: {}\n", render_text(*made, options), flags.output);
  return made->verdict.exit_code();
}

}  // namespace

Action declare_report(CLI::App& app) {
  auto flags = std::make_shared<ReportFlags>();
  app.add_option("cluster.yaml", flags->cluster,
                 "what the nodes should be; a folder of trees may bring its own");
  app.add_option(
      "--root", flags->root,
      "captured nodes: a .tree file, a sosreport, an nvidia-bug-report, or a folder of them with cluster.yaml and "
      "measurements.json beside");
  app.add_option("--facts", flags->facts, "facts that `railbed facts --json` printed, a file a node");
  app.add_option("--measurements", flags->measurements, "what `railbed bench --json` printed");
  app.add_option("--run", flags->runs,
                 "a run of the history, with pictures of its own: a number, a label, last, baseline, or an "
                 "exported file; again for more");
  add_store_option(app, flags->store);
  app.add_option("-o,--output", flags->output, "where the page goes (default report.html; - for stdout)");
  add_json_flag(app, flags->json, "findings, measurements and runs as one JSON document on standard output",
                kFindingsDocument);
  app.add_flag("--all", flags->all, "also show what passed");
  app.footer(
      "\nWrites one page that needs no network to view, from what was captured and measured before: no node is "
      "asked,\nnothing is measured. Where runs hold the same number, the newest is judged; each is drawn. Examples:\n"
      "  railbed report --run last\n"
      "  railbed report --root examples/sick-pair -o sick.html\n"
      "  railbed report cluster.yaml --facts gpu01.json gpu02.json --run back-to-back --run switch\n\n"
      "Exit codes: 0 clean or nothing to judge, 1 warnings, 2 failures found, 3 could not look.");
  return [flags] { return run_report(*flags); };
}

}  // namespace railbed

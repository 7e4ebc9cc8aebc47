// railbed prove: reads every node, measures every rail between neighbors, judges, and writes the page.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "base/moment.h"
#include "bench/pairs/measure.h"
#include "campaign/look/choose_nodes.h"
#include "campaign/look/evidence.h"
#include "campaign/look/survey.h"
#include "campaign/measure/neighbours.h"
#include "campaign/measure/prove.h"
#include "cli/bmc/bmc_options.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/load.h"
#include "report/documents.h"
#include "report/report.h"

namespace railbed {
namespace {

struct ProveFlags {
  std::string cluster_file;
  std::string output = "report.html";
  std::string measurements_file;
  bool json = false;
  bool all = false;
  bool no_measure = false;
  bool bmc = false;
  double seconds = 2;
  KeepOptions keep;
  ReachOptions reach;
};

// Returns the report of a proof, for its page.
Report report_of(Cluster cluster, Proof proof, std::map<std::string, BmcFacts> bmcs) {
  Report report;
  report.cluster = std::move(cluster);
  report.facts = std::move(proof.facts);
  report.verdict = std::move(proof.verdict);
  report.measurements = std::move(proof.run.measurements);
  report.unreachable = std::move(proof.unreachable);
  report.bmcs = std::move(bmcs);
  report.differences = std::move(proof.differences);
  report.railbed = proof.run.railbed;
  report.started_at = proof.run.started_at;
  report.seconds = proof.seconds;
  return report;
}

Result<void> write_files(const Report& report, const ProveFlags& flags) {
  if (auto written = write_file(flags.output, render_html(report)); !written) return written;
  if (flags.measurements_file.empty()) return {};
  return write_file(flags.measurements_file, document_text(kMeasurementsDocument, report.measurements));
}

void print(const Report& report, const ProveFlags& flags) {
  if (flags.json) return print_result(render_json(report));
  TextOptions options;
  options.colour = use_colour(STDOUT_FILENO);
  options.all = flags.all;
  fmt::print("{}\nreport: {}\n", render_text(report, options), flags.output);
}

// Checks that all output files can be written, before anything is measured.
Result<void> check_outputs(const ProveFlags& flags) {
  if (auto ready = check_keeping(flags.keep); !ready) return ready;
  if (auto ready = check_writable(flags.output); !ready) return ready;
  return flags.measurements_file.empty() ? Result<void>() : check_writable(flags.measurements_file);
}

int run_prove(const ProveFlags& flags, const CLI::App& app) {
  auto cluster = load_cluster(flags.cluster_file);
  if (!cluster) return railbed::report(cluster.error());
  if (auto ready = check_outputs(flags); !ready) return railbed::report(ready.error());
  cluster = choose_nodes(std::move(*cluster), flags.reach, terminal_caller());
  if (!cluster) return railbed::report(cluster.error());
  ProofPlan plan{.measure = !flags.no_measure, .seconds = flags.seconds};
  if (flags.bmc) {
    const auto places = open_places({.cluster = flags.cluster_file, .nodes = nodes_in(flags.reach)});
    if (!places) return railbed::report(places.error());
    plan.bmcs = look_at_all(*places);
  }
  auto proof = prove(*cluster, plan, request_of(app, flags.keep), flags.reach, terminal_caller());
  if (!proof) return railbed::report(proof.error());
  BenchRun run = proof->run;
  const Report report = report_of(std::move(*cluster), std::move(*proof), std::move(plan.bmcs));
  if (const auto written = write_files(report, flags); !written) return railbed::report(written.error());
  print(report, flags);
  keep(flags.keep, run);
  return report.verdict.exit_code();
}

}  // namespace

Action declare_prove(CLI::App& app) {
  auto flags = std::make_shared<ProveFlags>();
  app.add_option("CLUSTER", flags->cluster_file, "the description: cluster.yaml")->required();
  app.add_option("-o,--output", flags->output, "where the page goes (default report.html)");
  app.add_option("--seconds", flags->seconds, "how long each number is measured (default 2)")
      ->take_last()
      ->check(between(0.2, 600.0));
  app.add_flag("--bmc", flags->bmc,
               "ask each node's BMC as well, before anything is measured; the page shows them");
  app.add_flag("--no-measure", flags->no_measure, "look and judge only");
  app.add_option("--measurements", flags->measurements_file, "also write the measurements as JSON");
  add_json_flag(app, flags->json, "findings and measurements as one JSON document on standard output",
                kFindingsDocument);
  app.add_flag("--all", flags->all, "also show what passed");
  add_history_options(app, flags->keep);
  add_fleet_options(app, flags->reach);
  add_launcher_options(app, flags->reach);
  add_node_arguments(app, flags->reach);
  app.footer(
      "\nVerifies every node, measures TCP and RDMA each way on every rail between neighbouring nodes, "
      "and writes one\n"
      "page that needs no network to view. Nothing on the nodes is changed. "
      "Use the rails for nothing else meanwhile.\n"
      "\nExample:  railbed prove cluster.yaml -o report.html");
  return [flags, &app] { return run_prove(*flags, app); };
}

}  // namespace railbed

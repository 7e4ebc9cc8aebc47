// railbed prove: look at every node, measure every rail between neighbours, judge, and write the page.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/moment.h"
#include "bench/pairs/measure.h"
#include "campaign/evidence.h"
#include "campaign/neighbours.h"
#include "campaign/survey.h"
#include "cli/command.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "host/files.h"
#include "inventory/load.h"
#include "report/report.h"
#include "verify/verify.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

struct ProveFlags {
  std::string cluster_file;
  std::string output = "report.html";
  std::string measurements_file;
  bool json = false;
  bool all = false;
  bool no_measure = false;
  double seconds = 2;
  fleet::FleetOptions fleet;
};

bool measurable(const Surveyed& surveyed, const Pair& pair) {
  return surveyed.facts.contains(pair.from) && surveyed.facts.contains(pair.to);
}

BenchPlan plan_for(const Rail& rail, const ProveFlags& flags) {
  BenchPlan plan;
  if (rail.fabric == Fabric::kEthernet) plan.engines = {Engine::kTcp};
  plan.seconds = flags.seconds;
  plan.sizes = {4 << 10, 64 << 10, 1 << 20};  // the same for both engines, so that they stand side by side
  return plan;
}

// The pairs of a round have no node in common, so they run at once.
std::vector<Measurement> measure_round(fleet::Fleet& fleet, const Surveyed& surveyed,
                                       const std::vector<Pair>& round, const ProveFlags& flags,
                                       std::stop_token stop) {
  std::vector<std::vector<Measurement>> results(round.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < round.size(); ++i) {
      const Pair& pair = round[i];
      if (!measurable(surveyed, pair)) continue;
      threads.emplace_back([&, i] {
        results[i] = measure_pair(
            end_on(*pair.rail, fleet, surveyed, pair.from), end_on(*pair.rail, fleet, surveyed, pair.to),
            pair.rail->name, plan_for(*pair.rail, flags),
            [](std::string_view what) { progress(fmt::format("measuring: {}", what)); }, stop);
      });
    }
  }
  std::vector<Measurement> all;
  for (auto& result : results) std::move(result.begin(), result.end(), std::back_inserter(all));
  return all;
}

std::vector<Measurement> measure_rails(fleet::Fleet& fleet, const Cluster& cluster, const Surveyed& surveyed,
                                       const ProveFlags& flags, std::stop_token stop) {
  std::vector<Measurement> all;
  for (const Rail& rail : cluster.rails)
    for (const auto& round : neighbour_rounds(rail)) {
      if (stop.stop_requested()) return all;
      auto measured = measure_round(fleet, surveyed, round, flags, stop);
      std::move(measured.begin(), measured.end(), std::back_inserter(all));
    }
  clear_progress();
  return all;
}

// A link that broke while it was measured shows in facts that are taken afterwards, not in those from before.
void look_again(fleet::Fleet& fleet, const Cluster& cluster, const std::vector<Measurement>& measurements,
                Surveyed& surveyed, const CollectOptions& options, std::stop_token stop) {
  std::set<std::string> suspects;
  for (const Measurement& measurement : measurements)
    if (measurement.failure) suspects.insert({measurement.from.node, measurement.to.node});
  if (suspects.empty() || stop.stop_requested()) return;
  Surveyed after = survey_nodes(fleet, terminal_caller(), options, cluster);
  for (auto& [node, facts] : after.facts)
    if (suspects.contains(node)) surveyed.facts[node] = std::move(facts);
  for (Unreachable& lost : after.unreachable) {
    if (!suspects.contains(lost.node)) continue;
    surveyed.facts.erase(lost.node);
    surveyed.unreachable.push_back(std::move(lost));
  }
}

Result<Report> prove(const ProveFlags& flags, std::stop_token stop) {
  const auto started = Clock::now();
  Report report;
  report.started_at = utc_now();
  report.railbed = RAILBED_VERSION;
  auto cluster = load_cluster(flags.cluster_file);
  if (!cluster) return fail(cluster.error());
  report.cluster = std::move(*cluster);
  fleet::Fleet fleet = open_fleet(report.cluster, flags.fleet);

  CollectOptions options;
  options.paths = asked_paths(report.cluster);
  Surveyed surveyed = survey_nodes(fleet, terminal_caller(), options, report.cluster);
  if (!flags.no_measure) report.measurements = measure_rails(fleet, report.cluster, surveyed, flags, stop);
  look_again(fleet, report.cluster, report.measurements, surveyed, options, stop);
  if (stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted: nothing was written");

  const Evidence evidence{report.cluster, surveyed.facts, surveyed.unreachable, report.measurements,
                          surveyed.clocks};
  report.verdict = verify(evidence);
  report.differences = find_differences(evidence);
  report.facts = std::move(surveyed.facts);
  report.unreachable = std::move(surveyed.unreachable);
  report.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  return report;
}

int run_prove(const ProveFlags& flags) {
  auto report = prove(flags, interrupted());
  if (!report) return railbed::report(report.error());
  if (auto written = write_file(flags.output, render_html(*report)); !written)
    return railbed::report(written.error());
  if (!flags.measurements_file.empty()) {
    const auto text = json::dump_pretty(json::encode(report->measurements));
    if (auto written = write_file(flags.measurements_file, text); !written)
      return railbed::report(written.error());
  }
  if (flags.json) {
    fmt::print("{}", render_json(*report));
  } else {
    TextOptions options;
    options.colour = use_colour(STDOUT_FILENO);
    options.all = flags.all;
    fmt::print("{}\nreport: {}\n", render_text(*report, options), flags.output);
  }
  return report->verdict.exit_code();
}

}  // namespace

Action declare_prove(CLI::App& app) {
  auto flags = std::make_shared<ProveFlags>();
  app.add_option("CLUSTER", flags->cluster_file, "the description: cluster.yaml")->required();
  app.add_option("-o,--output", flags->output, "where the page goes (default report.html)");
  app.add_option("--seconds", flags->seconds, "how long each number is measured (default 2)")
      ->take_last()
      ->check(CLI::Range(0.2, 600.0));
  app.add_flag("--no-measure", flags->no_measure, "look and judge only");
  app.add_option("--measurements", flags->measurements_file, "also write the measurements as JSON");
  app.add_flag("--json", flags->json, "findings and measurements as one JSON document on standard output");
  app.add_flag("--all", flags->all, "also show what passed");
  add_fleet_options(app, flags->fleet);
  app.footer(
      "\nVerifies every node, measures TCP and RDMA on every rail between neighbouring nodes, "
      "and writes one page\n"
      "that needs no network to view. Nothing on the nodes is changed. "
      "Use the rails for nothing else meanwhile.\n"
      "\nExample:  railbed prove cluster.yaml -o report.html");
  return [flags] { return run_prove(*flags); };
}

}  // namespace railbed

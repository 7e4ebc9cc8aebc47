// railbed bench pairs: which node or link of a cluster is slower than the others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <mutex>
#include <thread>

#include "base/json.h"
#include "bench/pairs/measure.h"
#include "bench/pairs/slow.h"
#include "campaign/pair_ways.h"
#include "campaign/survey.h"
#include "cli/bench_commands.h"
#include "cli/fleet_options.h"
#include "cli/terminal.h"
#include "host/files.h"
#include "inventory/load.h"
#include "report/heat_map.h"
#include "report/pairs_text.h"

namespace railbed {
namespace {

struct BenchPairsOptions {
  std::string cluster_file;
  std::string rail;
  std::string engine = "auto";
  std::string size;
  std::string svg;
  double seconds = 1;
  double tolerance = 10;  // percent
  int streams = 0;
  bool every_pair = false;
  bool json = false;
  fleet::FleetOptions fleet;
};

struct BenchPairsOutput {
  int version = 1;
  std::vector<RailReport> rails;
  static void fields(auto&& field) {
    field("version", &BenchPairsOutput::version);
    field("rails", &BenchPairsOutput::rails);
  }
};

Engine engine_for(const Rail& rail, const BenchPairsOptions& options) {
  if (options.engine == "tcp") return Engine::kTcp;
  if (options.engine == "rdma") return Engine::kRdma;
  return rail.fabric == Fabric::kEthernet ? Engine::kTcp : Engine::kRdma;
}

Result<BenchPlan> plan_for(const Rail& rail, const BenchPairsOptions& options) {
  BenchPlan plan;
  plan.engines = {engine_for(rail, options)};
  plan.latency = false;
  plan.both_ways = true;
  plan.seconds = options.seconds;
  plan.warmup = std::min(0.5, options.seconds / 4);
  plan.streams = options.streams;
  auto sizes = parse_sizes(options.size.empty() ? "1M" : options.size);
  if (!sizes) return fail(sizes.error());
  plan.sizes = {sizes->front()};
  return plan;
}

std::optional<double> value_of(const Measurement& one) {
  if (one.failure || one.summary.samples == 0) return std::nullopt;
  return one.summary.median;
}

// Measures rounds of one rail, and keeps why a pair has no number.
class RailMeasurer {
 public:
  RailMeasurer(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, BenchPlan plan,
               RailReport& report)
      : rail_(rail), fleet_(fleet), surveyed_(surveyed), plan_(std::move(plan)), report_(report) {}

  std::vector<PairResult> operator()(const Round& round) {
    std::vector<PairResult> results(round.size());
    if (interrupted().stop_requested()) return results;
    progress(fmt::format("{}: {} pairs at once", rail_.name, round.size()));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < round.size(); ++i)
      threads.emplace_back([&, i] { results[i] = measure(round[i]); });
    threads.clear();
    return results;
  }

 private:
  PairResult measure(const NodePair& pair) {
    const std::string& a = report_.nodes[static_cast<std::size_t>(pair.a)];
    const std::string& b = report_.nodes[static_cast<std::size_t>(pair.b)];
    const auto measured = measure_pair(
        end_on(rail_, fleet_, surveyed_, a), end_on(rail_, fleet_, surveyed_, b), rail_.name, plan_,
        [](std::string_view) {}, interrupted());
    PairResult result;
    for (const Measurement& one : measured) {
      (one.from.node == a ? result.there : result.back) = value_of(one);
      if (one.failure) note(fmt::format("{} → {}: {}", one.from.node, one.to.node, one.failure->cause));
    }
    return result;
  }

  void note(std::string failure) {
    const std::lock_guard lock(mutex_);
    report_.failures.push_back(std::move(failure));
  }

  const Rail& rail_;
  fleet::Fleet& fleet_;
  const Surveyed& surveyed_;
  BenchPlan plan_;
  RailReport& report_;
  std::mutex mutex_;
};

Result<RailReport> search(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed,
                          const BenchPairsOptions& options) {
  auto plan = plan_for(rail, options);
  if (!plan) return fail(plan.error());
  RailReport report;
  report.rail = rail.name;
  report.engine = engine_for(rail, options);
  for (const RailPort& port : rail.ports)
    if (surveyed.facts.contains(port.node)) report.nodes.push_back(port.node);
  RailMeasurer measurer(rail, fleet, surveyed, std::move(*plan), report);
  report.report =
      find_slow(static_cast<int>(report.nodes.size()), [&](const Round& round) { return measurer(round); },
                {options.every_pair, options.tolerance / 100});
  clear_progress();
  return report;
}

int exit_code_of(const std::vector<RailReport>& rails, bool nodes_lost) {
  int code = nodes_lost ? kExitCouldNotLook : kExitClean;
  for (const RailReport& rail : rails)
    for (const Slow& one : rail.report.slow) {
      if (one.confirmed) return kExitFailures;
      if (code == kExitClean) code = kExitWarnings;
    }
  return code;
}

std::optional<Error> write_pictures(const std::vector<RailReport>& rails, const std::string& file) {
  for (const RailReport& rail : rails) {
    // One rail: the file as named; more: "pairs-rail1.svg" beside it.
    std::string path = file;
    if (rails.size() > 1) {
      const auto dot = file.rfind('.');
      path = file.substr(0, dot) + "-" + rail.rail + (dot == std::string::npos ? "" : file.substr(dot));
    }
    if (const auto written = write_file(path, heat_map_svg(heat_map_of(rail))); !written)
      return written.error();
  }
  return std::nullopt;
}

int run_bench_pairs(const BenchPairsOptions& options) {
  const auto cluster = load_cluster(options.cluster_file);
  if (!cluster) return report(cluster.error());
  if (!options.rail.empty() && find_rail(*cluster, options.rail) == nullptr)
    return report({ErrorKind::kBadInput, fmt::format("{} has no rail \"{}\"", cluster->file, options.rail)});
  fleet::Fleet fleet = open_fleet(*cluster, options.fleet);
  const Surveyed surveyed = survey_nodes(fleet, terminal_caller());
  BenchPairsOutput output;
  for (const Rail& rail : cluster->rails) {
    if (!options.rail.empty() && rail.name != options.rail) continue;
    auto found = search(rail, fleet, surveyed, options);
    if (!found) return report(found.error());
    if (interrupted().stop_requested()) return report({ErrorKind::kCancelled, "interrupted"});
    output.rails.push_back(std::move(*found));
  }
  for (const Unreachable& lost : surveyed.unreachable) fmt::print(stderr, "left out: {}\n", lost.error.text);
  if (!options.svg.empty())
    if (const auto error = write_pictures(output.rails, options.svg)) return report(*error);
  if (options.json)
    fmt::print("{}", json::dump_pretty(json::encode(output)));
  else
    for (const RailReport& rail : output.rails) fmt::print("{}", pairs_text(rail));
  return exit_code_of(output.rails, !surveyed.unreachable.empty());
}

}  // namespace

Action declare_bench_pairs(CLI::App& app) {
  auto options = std::make_shared<BenchPairsOptions>();
  app.add_option("CLUSTER", options->cluster_file, "the description: cluster.yaml")->required();
  app.add_option("--rail", options->rail, "this rail only");
  app.add_option("--engine", options->engine, "tcp, rdma or auto: as the rail's fabric has it (default)")
      ->check(CLI::IsMember({"tcp", "rdma", "auto"}));
  app.add_flag("--every-pair", options->every_pair,
               "n-1 rounds: finds a slow link between any two nodes, too");
  app.add_option("--seconds", options->seconds, "measured time of each direction of a pair (default 1)")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--size", options->size, "message size (default 1M)");
  app.add_option("--streams", options->streams, "connections or queue pairs (default: tcp 4, rdma 2)")
      ->check(CLI::Range(1, 64));
  app.add_option("--tolerance", options->tolerance, "percent below the others that is slow (default 10)")
      ->check(CLI::Range(1.0, 90.0));
  app.add_option("--svg", options->svg, "write the matrix as a picture");
  app.add_flag("--json", options->json, "machine-readable (docs/reference/bench.md)");
  add_fleet_options(app, options->fleet);
  app.footer(
      "\nMeasures pairs of nodes, all pairs of a round at once: log2 n rounds, "
      "in which each node meets as many partners.\n"
      "Suspects are measured again alone, with sound partners. "
      "Use the rails for nothing else meanwhile.\n\n"
      "railbed bench pairs cluster.yaml\n"
      "railbed bench pairs cluster.yaml --rail rail0 --every-pair --svg rail0.svg\n\n"
      "Exit codes: 0 nobody is slow, 1 slow only while others run, 2 a slow node or link, "
      "3 a node could not be asked.");
  return [options] { return run_bench_pairs(*options); };
}

}  // namespace railbed

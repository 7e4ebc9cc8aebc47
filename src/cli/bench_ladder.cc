// railbed bench ladder: one pair of nodes from TCP up to NCCL, and the rung that loses bandwidth.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "base/json.h"
#include "campaign/measure_ladder.h"
#include "campaign/open_pair.h"
#include "cli/bench_commands.h"
#include "cli/fleet_options.h"
#include "cli/kept_run.h"
#include "cli/terminal.h"
#include "host/files.h"
#include "report/ladder.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

struct BenchLadderOptions {
  PairChoice pair;
  double seconds = 3;
  std::string svg;
  bool json = false;
  KeepOptions keep;
  fleet::FleetOptions fleet;
};

struct BenchLadderOutput {
  int version = 1;
  std::map<std::string, std::string> units = {
      {"bandwidth, rate", "bit/s"}, {"message_bytes", "B"}, {"seconds", "s"}, {"share, of_wire", "1"}};
  std::vector<Ladder> ladders;
  static void fields(auto&& field) {
    field("version", &BenchLadderOutput::version);
    field("units", &BenchLadderOutput::units);
    field("ladders", &BenchLadderOutput::ladders);
  }
};

// Every rail's ladder, each rung measured as often as asked for; rails take turns.
std::vector<Ladder> climb_all(OpenPair& pair, const BenchLadderOptions& options, BenchRun& kept) {
  std::vector<std::vector<Ladder>> climbs(pair.ways.size());
  for (int i = 0; i < options.keep.repeat && !interrupted().stop_requested(); ++i)
    for (std::size_t way = 0; way < pair.ways.size() && !interrupted().stop_requested(); ++way) {
      climbs[way].push_back(measure_ladder(pair, pair.ways[way], options.seconds, terminal_caller()));
      for (const Rung& rung : climbs[way].back().rungs)
        if (rung.measurement) kept.measurements.push_back(*rung.measurement);
    }
  std::vector<Ladder> ladders;
  for (std::size_t way = 0; way < pair.ways.size(); ++way)
    if (!climbs[way].empty()) ladders.push_back(judge_ladders(climbs[way], pair, pair.ways[way]));
  return ladders;
}

int run_bench_ladder(const BenchLadderOptions& options) {
  auto pair = open_pair(options.pair, options.fleet, terminal_caller());
  if (!pair) return clear_progress(), report(pair.error());
  BenchRun kept = begin_run(options.keep, fmt::format("bench ladder {} {}", options.pair.a, options.pair.b));
  BenchLadderOutput output;
  output.ladders = climb_all(*pair, options, kept);
  clear_progress();
  if (options.json) fmt::print("{}", json::dump_pretty(json::encode(output)));
  for (const Ladder& ladder : output.ladders)
    if (!options.json) fmt::print("{}", ladder_text(ladder));
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  if (!options.svg.empty())
    if (const auto written = write_file(options.svg, ladders_svg(output.ladders)); !written)
      return report(written.error());
  add_fingerprint(kept, options.pair.a, pair->facts_a);
  add_fingerprint(kept, options.pair.b, pair->facts_b);
  const int code = end_run(options.keep, kept, options.json);
  const bool loses = std::ranges::any_of(output.ladders, [](const Ladder& one) { return one.loser >= 0; });
  return code == kExitClean && loses ? kExitWarnings : code;
}

}  // namespace

Action declare_bench_ladder(CLI::App& app) {
  auto options = std::make_shared<BenchLadderOptions>();
  PairChoice& pair = options->pair;
  app.add_option("A", pair.a, "the node that sends: an ssh destination, a node of --cluster, or localhost")
      ->required();
  app.add_option("B", pair.b, "the node that receives")->required();
  app.add_option("--cluster", pair.cluster, "cluster.yaml that describes both nodes and their rails");
  app.add_option("--rail", pair.rail, "this rail only; without --cluster, this interface of A");
  app.add_option("--seconds", options->seconds, "measured time of TCP and of RDMA (default 3)")
      ->check(CLI::Range(0.1, 600.0));
  app.add_option("--svg", options->svg, "write the chart as a picture");
  add_keep_options(app, options->keep);
  app.add_flag("--json", options->json, "machine-readable (docs/reference/bench.md)");
  add_fleet_options(app, options->fleet);
  app.footer(
      "\nrailbed bench ladder gpu01 gpu02\n"
      "railbed bench ladder gpu01 gpu02 --cluster cluster.yaml --svg ladder.svg\n\n"
      "TCP, RDMA of host memory, RDMA of GPU memory, NCCL: each beside its ceiling. "
      "What cannot be climbed says why.\n"
      "Exit codes: 0 no rung loses, 1 one does, "
      "2 a measurement failed or is worse than the baseline,\n"
      "3 a node could not be asked.");
  return [options] { return run_bench_ladder(*options); };
}

}  // namespace railbed

// railbed bench ladder: one pair of nodes from TCP up to NCCL, and the rung that loses bandwidth.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "base/fields.h"
#include "base/files.h"
#include "campaign/measure/climb_ladders.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/kept_run.h"
#include "cli/measure/pair_options.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/ladder.h"
#include "results/all_rails.h"

namespace railbed {
namespace {

struct BenchLadderOptions {
  PairChoice pair;
  double seconds = 3;
  std::string svg;
  bool json = false;
  KeepOptions keep;
  ReachOptions reach;
};

struct BenchLadderOutput {
  std::map<std::string, std::string> units = {
      {"bandwidth, rate", "bit/s"}, {"message_bytes", "B"}, {"seconds", "s"}, {"share, of_wire", "1"}};
  std::vector<Ladder> ladders;
  std::vector<Measurement> all_rails;  // all rails at once: the share of each, and the total
  FIELDS(BenchLadderOutput, units, ladders, all_rails);
};
constexpr Document<BenchLadderOutput> kLadderDocument{"railbed-bench-ladder"};

// Checks that all output files can be written, before anything is measured.
Result<void> check_outputs(const BenchLadderOptions& options) {
  if (auto ready = check_keeping(options.keep); !ready || options.svg.empty()) return ready;
  return check_writable(options.svg);
}

int run_bench_ladder(const BenchLadderOptions& options, const CLI::App& app) {
  if (auto ready = check_outputs(options); !ready) return report(ready.error());
  auto run = climb_ladders(options.pair, options.seconds, request_of(app, options.keep), options.reach,
                           terminal_caller());
  if (!run) return clear_progress(), report(run.error());
  clear_progress();
  BenchLadderOutput output;
  output.ladders = run->ladders;
  std::ranges::copy_if(merge_repeats(run->measurements), std::back_inserter(output.all_rails), is_at_once);
  if (options.json) print_document(kLadderDocument, output);
  for (const Ladder& ladder : output.ladders)
    if (!options.json) fmt::print("{}", ladder_text(ladder));
  if (!options.json) fmt::print("{}", at_once_text(run->measurements));
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  if (!options.svg.empty())
    if (const auto written = write_file(options.svg, ladders_svg(output.ladders)); !written)
      return report(written.error());
  const int code = end_run(options.keep, *run, options.json);
  const bool loses =
      std::ranges::any_of(output.ladders, [](const Ladder& ladder) { return ladder.loser >= 0; });
  return code == kExitClean && loses ? kExitWarnings : code;
}

}  // namespace

Action declare_bench_ladder(CLI::App& app) {
  auto options = std::make_shared<BenchLadderOptions>();
  add_pair_options(app, options->pair);
  app.add_option("--seconds", options->seconds, "measured time of TCP and of RDMA (default 3)")
      ->check(between(0.1, 600.0));
  app.add_option("--svg", options->svg, "write the chart as a picture");
  add_keep_options(app, options->keep);
  add_json_flag(app, options->json, "machine-readable (docs/reference/bench.md)", kLadderDocument);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(
      "\nrailbed bench ladder gpu01 gpu02\n"
      "railbed bench ladder gpu01 gpu02 --cluster cluster.yaml --svg ladder.svg\n\n"
      "TCP, a connection by RDMA-CM, RDMA of host memory, RDMA of GPU memory, NCCL: each beside its ceiling. "
      "A rung that cannot be climbed says why. Several rails are then measured at once.\n"
      "Exit codes: 0 no rung loses, 1 one does, "
      "2 a measurement failed or is worse than the baseline,\n"
      "3 a node could not be asked.");
  return [options, &app] { return run_bench_ladder(*options, app); };
}

}  // namespace railbed

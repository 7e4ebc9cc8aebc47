// railbed bench collectives: NCCL over the GPUs of one node or of several, with the messages of its log.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/units.h"
#include "bench/collective/measure_collective.h"
#include "bench/core/local_peer.h"
#include "campaign/agent_handlers.h"
#include "campaign/look/survey.h"
#include "campaign/measure/gpu_remedy.h"
#include "campaign/measure/run_collectives.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/enum_words.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "inventory/cluster.h"
#include "predict/against.h"
#include "report/text/collective_table.h"
#include "report/text/familiar.h"

namespace railbed {
namespace {

struct BenchCollectivesOptions {
  std::vector<std::string> where;
  std::string operation = "all_reduce";
  std::string type = "float32";
  std::string from = "8";
  std::string to = "1G";
  int factor = 4;
  bool no_check = false;
  bool no_graph = false;
  bool json = false;
  std::string format;
  std::string rendezvous;
  CollectivePlan plan;
  KeepOptions keep;
  ReachOptions reach;
};

struct BenchCollectivesOutput {
  std::map<std::string, std::string> units = {
      {"times", "ns"}, {"algbw, busbw, rate", "bit/s"}, {"bytes", "B"}, {"memory_clock", "kHz"}};
  std::vector<CollectiveReport> runs;
  diagnose::Log nccl;
  FIELDS(BenchCollectivesOutput, units, runs, nccl);
};
constexpr Document<BenchCollectivesOutput> kBenchCollectivesDocument{"railbed-bench-collectives"};

Result<void> fill_plan(BenchCollectivesOptions& options) {
  const auto from = parse_byte_count(options.from);
  const auto to = parse_byte_count(options.to);
  if (!from || !to || from->bytes == 0 || from->bytes > to->bytes)
    return fail(ErrorKind::kBadInput, "--from and --to: sizes as 8, 64K, 1M or 4G, the smaller first");
  CollectivePlan& plan = options.plan;
  plan.operation = enum_of<Collective>(options.operation);
  plan.type = enum_of<DataType>(options.type);
  plan.sizes = size_sweep(from->bytes, to->bytes, options.factor);
  plan.check = !options.no_check;
  plan.graph = !options.no_graph;
  plan.in_place = plan.in_place || options.format == "nccl-tests";
  return check_plan(plan);
}

void print(const BenchCollectivesOptions& options, const RanCollectives& ran) {
  clear_progress();
  const std::vector<CollectiveReport>& reports = ran.run.collectives;
  if (options.json)
    return print_document(kBenchCollectivesDocument,
                          BenchCollectivesOutput{.runs = reports, .nccl = ran.nccl});
  if (!options.format.empty())
    for (const CollectiveReport& report : reports)
      if (report.failure) say_to_person(words_of(*report.failure));
  for (const CollectiveReport& report : reports)
    fmt::print("{}", options.format == "nccl-tests"
                         ? nccl_tests_text(report)
                         : collective_table(report, ran.nccl, forecasts_of(report, Cluster{}, {})));
}

int finish(const BenchCollectivesOptions& options, RanCollectives ran) {
  const std::vector<CollectiveReport>& reports = ran.run.collectives;
  const bool any = std::ranges::any_of(reports, [](const auto& one) { return !one.rows.empty(); });
  print(options, ran);
  if (interrupted().stop_requested() || !any) return kExitCouldNotLook;
  const int code = end_run(options.keep, ran.run, options.json || !options.format.empty());
  return reports.back().failure ? kExitFailures : code;
}

// Runs as one rank of a launched job. Every rank finds the same mistakes; only rank 0 reports them.
int run_launched(BenchCollectivesOptions& options, const LaunchedCommand& command,
                 std::chrono::steady_clock::time_point began, const CLI::App& app) {
  const bool leads = command.own.rank == 0;
  const auto complain = [&](const Error& error) { return leads ? report(error) : exit_code(error.kind); };
  if (auto filled = fill_plan(options); !filled) return complain(filled.error());
  if (!options.where.empty())
    return complain({ErrorKind::kBadInput,
                     fmt::format("{} started {} ranks of this: they are all there is, WHERE must be left out",
                                 command.launched.launcher, command.own.ranks)});
  if (leads) {
    if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
    auto ran =
        lead_collectives(command, options.plan, began, request_of(app, options.keep), terminal_caller());
    return ran ? finish(options, std::move(*ran)) : report(ran.error());
  }
  const auto left = serve_rank_zero(command, collective_rank_handlers(), terminal_caller());
  // It exits at once: a handler that ignored its stop may still run, and must not lose static objects.
  _exit(!left ? report(left.error()) : *left == 0 ? kExitClean : kExitInternal);
}

int run_bench_collectives(BenchCollectivesOptions& options, const CLI::App& app) {
  const auto began = std::chrono::steady_clock::now();
  const auto patience = std::chrono::duration<double>(options.plan.patience);
  const auto launched = find_launched(fleet::environment_here(), options.rendezvous, options.plan.place.gpus,
                                      std::chrono::ceil<std::chrono::milliseconds>(patience));
  if (!launched) return report(launched.error());
  if (*launched) return run_launched(options, **launched, began, app);
  if (auto filled = fill_plan(options); !filled) return report(filled.error());
  const auto places = find_gpu_places(options.where, options.plan.place.gpus);
  if (!places) return report(places.error());
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  return finish(options, run_collectives(*places, options.plan, began, request_of(app, options.keep),
                                         options.reach, terminal_caller()));
}

}  // namespace

Action declare_bench_collectives(CLI::App& app) {
  auto options = std::make_shared<BenchCollectivesOptions>();
  app.add_option(
      "WHERE", options->where,
      "cluster.yaml, and nodes of it if not all; or nodes: gpu[01-04]; gpu07:0,1 for some of a node's GPUs "
      "(default: this machine)");
  app.add_option("--op", options->operation,
                 "all_reduce (default), all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, "
                 "gather, scatter")
      ->check(one_of(words_of<Collective>()));
  app.add_option("--type", options->type, "int8, float16, bfloat16, int32, float32 (default), int64, float64")
      ->check(one_of(words_of<DataType>()));
  app.add_option("--from", options->from, "the smallest size, of all ranks together (default 8)");
  app.add_option("--to", options->to, "the largest size (default 1G)");
  app.add_option("--factor", options->factor, "factor from each size to the next (default 4)")
      ->check(between(2, 1024));
  app.add_option("--iterations", options->plan.iterations, "operations of one series (default 20)")
      ->check(between(2, 10000));
  app.add_option("--root", options->plan.root,
                 "root rank of broadcast, reduce, gather and scatter (default 0)");
  app.add_option("--gpus", options->plan.place.gpus,
                 "these GPUs of this machine only, in PCI order from 0: 0,1")
      ->delimiter(',');
  app.add_flag("--no-check", options->no_check, "do not compare the data");
  app.add_flag("--no-graph", options->no_graph, "leave out the CUDA graph");
  app.add_flag("--in-place", options->plan.in_place, "measure with one buffer for both as well");
  app.add_flag("--choices", options->plan.choices,
               "show the algorithm and protocol of each size; writing it slows small sizes down");
  app.add_option("--library", options->plan.place.library,
                 "NCCL's file (default: libnccl.so.2, then Python's)");
  app.add_option("--patience", options->plan.patience, "seconds that one step may take (default 60)")
      ->check(between(1.0, 3600.0));
  auto* json = add_json_flag(app, options->json, "machine-readable (docs/reference/bench.md)",
                             kBenchCollectivesDocument);
  app.add_option("--format", options->format, "print as another tool does: nccl-tests")
      ->check(one_of({"nccl-tests"}))
      ->excludes(json);
  app.add_option("--rendezvous", options->rendezvous,
                 "under srun or mpirun: HOST[:PORT] where rank 0 is, when the launcher does not say");
  add_keep_options(app, options->keep);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(
      "\nrailbed bench collectives                              all_reduce over this machine's GPUs\n"
      "railbed bench collectives cluster.yaml --op alltoall --from 1M --to 1G\n"
      "railbed bench collectives gpu01 gpu02 --format nccl-tests\n"
      "srun --nodes 2 --ntasks-per-node 8 railbed bench collectives\n\n"
      "A thread for each GPU; nodes meet over railbed's own channel, without MPI. "
      "Every size is checked on every\n"
      "GPU. NCCL's log is read meanwhile. Exit code 2: wrong data, a step that hung, "
      "or worse than the\n"
      "baseline; 3: nothing could be measured.");
  return [options, &app] { return run_bench_collectives(*options, app); };
}

}  // namespace railbed

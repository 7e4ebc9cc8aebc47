// railbed bench gpu: the copy engines of a node's GPUs, each number beside its ceiling; with --compute the rates of
// their tensor cores on many nodes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/units.h"
#include "bench/burn/burn_verdict.h"
#include "bench/gpu/gpu_copy.h"
#include "campaign/look/survey.h"
#include "campaign/measure/gpu_remedy.h"
#include "campaign/measure/measure_gpus.h"
#include "campaign/measure/run_burn.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/burn_listener.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/escape.h"
#include "report/text/burn_text.h"
#include "report/text/gpu_table.h"

namespace railbed {
namespace {

constexpr std::uint64_t kFewestCopyBytes = 4096;

struct BenchGpuOptions {
  std::vector<std::string> where;
  std::string size = "128M";
  bool compute = false;
  double seconds = 5;      // of each precision, with `compute`
  std::uint64_t side = 0;  // of the matrices; 0: by the memory
  bool json = false;
  bool all = false;
  GpuCopyPlan plan;
  KeepOptions keep;
  ReachOptions reach;
};

struct BenchGpuOutput {
  std::map<std::string, std::string> units = {
      {"bandwidth", "bit/s"}, {"message_bytes", "B"}, {"seconds", "s"}};
  std::vector<VisibleGpu> gpus = {};
  std::vector<Measurement> measurements = {};
  std::string cut = {};
  std::optional<Failure> failure = {};
  std::optional<BurnReport> compute = {};  // of --compute
  FIELDS(BenchGpuOutput, units, gpus, measurements, cut, failure, compute);
};
constexpr Document<BenchGpuOutput> kBenchGpuDocument{"railbed-bench-gpu"};

// Products of matrices are those of a burn-in, and so is the verdict.
int run_compute(const BenchGpuOptions& options, const CLI::App& app) {
  const auto places = find_load_places(options.where, options.plan.gpus);
  if (!places) return report(places.error());
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  BurnPlan plan;
  plan.phases = product_phases();
  plan.seconds = options.seconds * static_cast<double>(plan.phases.size());
  plan.patience = options.plan.patience;
  plan.side = options.side;
  auto run = run_burn(*places, plan, request_of(app, options.keep), options.reach, terminal_caller(),
                      burn_listener(plan, "compute rates"));
  clear_progress();
  if (!run) return report(run.error());
  const BurnReport& burn = run->burns.front();
  if (options.json)
    print_document(kBenchGpuDocument, BenchGpuOutput{.measurements = run->measurements, .compute = burn});
  else
    fmt::print("{}", burn_text(burn, options.all, "compute rates"));
  return std::max(burn_exit_code(burn), end_run(options.keep, *run, options.json));
}

// Copies and compute rates have options of their own.
Result<void> check_options(const BenchGpuOptions& options, const CLI::App& app) {
  for (const char* option : {"--size", "--samples", "--repeat"})
    if (options.compute && app.get_option(option)->count() > 0)
      return fail(ErrorKind::kBadInput, fmt::format("{} does not go with --compute", option));
  if (!options.compute && options.where.size() > 1)
    return fail(ErrorKind::kBadInput, "copies are measured on one NODE; --compute takes many");
  if (!options.compute && !options.where.empty())
    if (const auto refused = no_description()(options.where.front()); !refused.empty())
      return fail(ErrorKind::kBadInput, fmt::format("NODE: {}; --compute takes it", refused));
  return {};
}

int run_bench_gpu(BenchGpuOptions& options, const CLI::App& app) {
  if (auto checked = check_options(options, app); !checked) return report(checked.error());
  if (options.compute) return run_compute(options, app);
  const std::string node = options.where.empty() ? "localhost" : options.where.front();
  const auto size = parse_byte_count(options.size);
  if (!size || size->bytes < kFewestCopyBytes)
    return report({ErrorKind::kBadInput, fmt::format("--size {}: write 128M or 1G", options.size)});
  options.plan.bytes = size->bytes;
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  const auto show = [&](const std::vector<Measurement>& measured) {
    if (!options.json) fmt::print("{}", gpu_table(measured));
  };
  auto measured =
      measure_gpus(node, options.plan, request_of(app, options.keep), options.reach, terminal_caller(), show);
  if (!measured) return clear_progress(), report(measured.error());
  BenchRun& run = measured->run;
  const std::optional<Failure>& failure = measured->failure;
  if (options.json)
    print_document(kBenchGpuDocument, BenchGpuOutput{.gpus = measured->gpus,
                                                     .measurements = run.measurements,
                                                     .cut = measured->cut,
                                                     .failure = failure});
  if (!measured->cut.empty() && !options.json) fmt::print("  copies {}\n", printable(measured->cut));
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  if (failure)
    print_to_stderr("railbed: {}: {}\n  do: {}\n", node, printable(failure->cause),
                    gpu_remedy(*failure, {}, "ask for less with --size"));
  if (run.measurements.empty()) return kExitCouldNotLook;
  const int code = end_run(options.keep, run, options.json);
  return failure ? kExitFailures : code;
}

}  // namespace

Action declare_bench_gpu(CLI::App& app) {
  auto options = std::make_shared<BenchGpuOptions>();
  app.add_option(
      "NODE", options->where,
      "an ssh destination (default: this machine); with --compute many: gpu[01-04], gpu07:0,1, or cluster.yaml "
      "and nodes of it");
  app.add_flag(
      "--compute", options->compute,
      "the rates of products of matrices in each precision, and which GPU is slower than its siblings");
  app.add_option("--seconds", options->seconds, "seconds of each precision, with --compute (default 5)")
      ->check(between(1.0, 600.0))
      ->needs("--compute");
  app.add_option(
         "--side", options->side,
         "of the matrices, with --compute: a multiple of 64 (default: 8192, less where memory is short)")
      ->needs("--compute");
  app.add_flag("--all", options->all, "list every GPU and every finding, with --compute")->needs("--compute");
  app.add_option("--gpus", options->plan.gpus, "these GPUs only, in PCI order from 0: 0,1")->delimiter(',');
  app.add_option("--size", options->size, "size of one copy (default 128M)");
  app.add_option("--samples", options->plan.samples, "samples of each number (default 24)")
      ->check(between(6, 10000));
  app.add_option("--patience", options->plan.patience, "seconds that one step may take (default 60)")
      ->check(between(1.0, 3600.0));
  add_json_flag(app, options->json, "machine-readable (docs/reference/bench.md)", kBenchGpuDocument);
  add_keep_options(app, options->keep);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(
      "\nrailbed bench gpu                  this machine's GPUs\n"
      "railbed bench gpu gpu01 --label before-the-reseat\n"
      "railbed bench gpu --compute cluster.yaml\n\n"
      "To and from page-locked host memory, within each GPU, and between every two, "
      "one way and both ways.\n"
      "Data is filled and compared on the GPU. Needs the NVIDIA driver, nothing else. Exit code 2: "
      "wrong data,\n"
      "a step that hung, or worse than the baseline; 3: nothing could be measured. --compute loads the GPUs fully for\n"
      "some seconds, compares every result, and judges as `railbed burn` does (1: slower than its siblings).");
  return [options, &app] { return run_bench_gpu(*options, app); };
}

}  // namespace railbed

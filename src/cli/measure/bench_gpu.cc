// railbed bench gpu: the copy engines of a node's GPUs, each number beside its ceiling.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"
#include "base/units.h"
#include "bench/gpu/gpu_copy.h"
#include "campaign/look/survey.h"
#include "campaign/measure/gpu_remedy.h"
#include "campaign/measure/measure_gpus.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/escape.h"
#include "report/text/gpu_table.h"

namespace railbed {
namespace {

constexpr std::uint64_t kFewestCopyBytes = 4096;

struct BenchGpuOptions {
  std::string node = "localhost";
  std::string size = "128M";
  bool json = false;
  GpuCopyPlan plan;
  KeepOptions keep;
  ReachOptions reach;
};

struct BenchGpuOutput {
  std::map<std::string, std::string> units = {
      {"bandwidth", "bit/s"}, {"message_bytes", "B"}, {"seconds", "s"}};
  std::vector<VisibleGpu> gpus;
  std::vector<Measurement> measurements;
  std::string cut;
  std::optional<Failure> failure;
  FIELDS(BenchGpuOutput, units, gpus, measurements, cut, failure);
};
constexpr Document<BenchGpuOutput> kBenchGpuDocument{"railbed-bench-gpu"};

int run_bench_gpu(BenchGpuOptions& options, const CLI::App& app) {
  const auto size = parse_byte_count(options.size);
  if (!size || size->bytes < kFewestCopyBytes)
    return report({ErrorKind::kBadInput, fmt::format("--size {}: write 128M or 1G", options.size)});
  options.plan.bytes = size->bytes;
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  const auto show = [&](const std::vector<Measurement>& measured) {
    if (!options.json) fmt::print("{}", gpu_table(measured));
  };
  auto measured = measure_gpus(options.node, options.plan, request_of(app, options.keep), options.reach,
                               terminal_caller(), show);
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
    print_to_stderr("railbed: {}: {}\n  do: {}\n", options.node, printable(failure->cause),
                    gpu_remedy(*failure, {}, "ask for less with --size"));
  if (run.measurements.empty()) return kExitCouldNotLook;
  const int code = end_run(options.keep, run, options.json);
  return failure ? kExitFailures : code;
}

}  // namespace

Action declare_bench_gpu(CLI::App& app) {
  auto options = std::make_shared<BenchGpuOptions>();
  app.add_option("NODE", options->node, "an ssh destination (default: this machine)")
      ->check(no_description());
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
      "railbed bench gpu gpu01 --label before-the-reseat\n\n"
      "To and from page-locked host memory, within each GPU, and between every two, "
      "one way and both ways.\n"
      "Data is filled and compared on the GPU. Needs the NVIDIA driver, nothing else. Exit code 2: "
      "wrong data,\n"
      "a step that hung, or worse than the baseline; 3: nothing could be measured.");
  return [options, &app] { return run_bench_gpu(*options, app); };
}

}  // namespace railbed

// railbed bench train: the effect of a network on data-parallel training, rehearsed without a framework.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/text.h"
#include "base/units.h"
#include "campaign/measure/rehearse.h"
#include "cli/document.h"
#include "cli/fleet_options.h"
#include "cli/measure/bench_commands.h"
#include "cli/measure/kept_run.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "report/text/train_text.h"

namespace railbed {
namespace {

struct TrainOptions {
  TrainChoice choice;
  std::string flops;
  double step_milliseconds = 0;
  std::string bucket = "25M";
  std::vector<std::string> transports;  // "tcp", "rdma"
  bool json = false;
  KeepOptions keep;
  ReachOptions reach;
};

struct BenchTrainOutput {
  std::map<std::string, std::string> units = {{"step", "s"},
                                              {"exchange", "s"},
                                              {"compute", "s"},
                                              {"exposed", "s"},
                                              {"exchange_rate", "bit/s"},
                                              {"hiding_rate", "bit/s"},
                                              {"flops_per_second", "FLOP/s"}};
  std::vector<TrainReport> reports;  // one for each repeat and transport
  std::vector<Measurement> measurements;
  FIELDS(BenchTrainOutput, units, reports, measurements);
};
constexpr Document<BenchTrainOutput> kBenchTrainDocument{"railbed-bench-train"};

// Parses a rate of operations: "100T", "312e12", "989 TFLOP/s".
std::optional<double> parse_flops(std::string text) {
  for (const std::string_view unit : {"FLOP/s", "FLOPS", "flops"})
    if (text.ends_with(unit)) text.resize(text.size() - unit.size());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  double factor = 1;
  for (const auto& [letter, value] : {std::pair{'G', 1e9}, std::pair{'T', 1e12}, std::pair{'P', 1e15}})
    if (!text.empty() && text.back() == letter) factor = value;
  if (factor > 1) text.pop_back();
  const auto number = parse_real(text);
  if (!number || !(*number * factor >= 1e6 && *number * factor <= 1e18)) return std::nullopt;
  return *number * factor;
}

// True if an option was given that describes ranks in host buffers.
bool asks_for_host_buffers(const TrainOptions& options) {
  const TrainChoice& choice = options.choice;
  return choice.host_buffers || choice.ranks > 0 || !options.flops.empty() || !choice.rail.empty() ||
         !options.transports.empty();
}

Result<TrainChoice> choice_of(const TrainOptions& options) {
  TrainChoice choice = options.choice;
  const auto bucket = parse_byte_count(options.bucket);
  if (!bucket || bucket->bytes < 4096 || bucket->bytes > (std::uint64_t{256} << 20))
    return fail(ErrorKind::kBadInput, fmt::format("--buckets {}: 4K to 256M", options.bucket));
  choice.step.bucket_bytes = bucket->bytes;
  choice.step.first_bucket_bytes = std::min(choice.step.first_bucket_bytes, bucket->bytes);
  if (!choice.gpus.empty() && !choice.cluster.empty())
    return fail(ErrorKind::kBadInput, "--gpus: of this machine only, not of a cluster's nodes");
  const auto flops = parse_flops(options.flops.empty() ? "100T" : options.flops);
  if (!flops)
    return fail(ErrorKind::kBadInput, fmt::format("--compute-flops {}: write 100T or 312e12", options.flops));
  choice.step.flops_per_second = *flops;
  choice.step_seconds = options.step_milliseconds / 1000;
  for (const std::string& name : options.transports)
    choice.transports.push_back(name == "tcp" ? Engine::kTcp : Engine::kRdma);
  choice.host_buffers = asks_for_host_buffers(options);
  return choice;
}

void print(const BenchRun& run, bool json) {
  clear_progress();
  if (json)
    print_document(kBenchTrainDocument,
                   BenchTrainOutput{.reports = run.trains, .measurements = run.measurements});
  else
    for (const TrainReport& report : run.trains) fmt::print("{}", train_text(report));
}

int run_bench_train(const TrainOptions& options, const CLI::App& app) {
  const auto choice = choice_of(options);
  if (!choice) return report(choice.error());
  if (auto ready = check_keeping(options.keep); !ready) return report(ready.error());
  auto rehearsed = rehearse(*choice, request_of(app, options.keep), options.reach, terminal_caller());
  if (!rehearsed) return report(rehearsed.error());
  print(rehearsed->run, options.json);
  if (interrupted().stop_requested()) return kExitCouldNotLook;
  const int code = end_run(options.keep, rehearsed->run, options.json);
  return code == kExitClean && !rehearsed->unreachable.empty() ? kExitCouldNotLook : code;
}

}  // namespace

Action declare_bench_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  app.add_option("CLUSTER", options->choice.cluster,
                 "cluster.yaml: all GPUs of its nodes, or one rank on each (default: this machine alone)");
  app.add_option("--model", options->choice.model,
                 "resnet50 (default), bert-base, bert-large, gpt2, gpt2-xl, 7b")
      ->check(one_of({"resnet50", "bert-base", "bert-large", "gpt2", "gpt2-xl", "7b"}));
  app.add_option("--batch", options->choice.batch,
                 "samples of each rank and step (default: a usual number for the model on GPUs, else 8)")
      ->check(between(1, 65536));
  app.add_option("--dtype-bytes", options->choice.step.word_bytes, "bytes of one gradient: 4 (default) or 2")
      ->check(one_of({"2", "4"}));
  app.add_option("--buckets", options->bucket,
                 "gradients that are exchanged together (default 25M, as PyTorch)");
  app.add_option("--seconds", options->choice.seconds, "measured time (default 5), at least three rounds")
      ->check(between(0.1, 3000.0));
  auto* gpus = app.add_option("--gpus", options->choice.gpus,
                              "these GPUs of this machine only, in PCI order from 0: 0,1")
                   ->delimiter(',');
  app.add_option("--library", options->choice.nccl, "NCCL's file (default: libnccl.so.2, then Python's)");
  app.add_option("--cublas", options->choice.cublas,
                 "cuBLAS's file (default: libcublas.so of the driver's CUDA)");
  app.add_flag("--host-buffers", options->choice.host_buffers,
               "simulate the computing and exchange from host memory even where there are GPUs")
      ->excludes(gpus);
  app.add_option("--transport", options->transports,
                 "in host buffers: tcp, rdma (default: each that all nodes have on the rail)")
      ->delimiter(',')
      ->check(one_of({"tcp", "rdma"}))
      ->excludes(gpus);
  app.add_option("--ranks", options->choice.ranks,
                 "in host buffers: ranks of each node (default: 1; 2 on this machine alone)")
      ->check(between(1, kMostLocalRanks))
      ->excludes(gpus);
  auto* flops =
      app.add_option("--compute-flops", options->flops,
                     "in host buffers: operations a second that a rank's GPU would compute (default 100T)");
  app.add_option("--step-time", options->step_milliseconds,
                 "milliseconds that your own step takes on one rank, without any exchange")
      ->check(between(0.01, 600000.0))
      ->excludes(flops);
  app.add_option("--rail", options->choice.rail,
                 "in host buffers: the rail of the cluster (default: the first)");
  add_keep_options(app, options->keep);
  add_json_flag(app, options->json, "machine-readable (docs/reference/bench.md)", kBenchTrainDocument);
  add_fleet_options(app, options->reach);
  add_launcher_options(app, options->reach);
  app.footer(
      "\nrailbed bench train --model bert-large                   this machine's GPUs\n"
      "railbed bench train cluster.yaml --model 7b --batch 4    all GPUs of every node\n"
      "railbed bench train cluster.yaml --model 7b --step-time 900 --dtype-bytes 2\n\n"
      "Where every node has GPUs: the model's matrix products by cuBLAS, its gradients by NCCL in buckets\n"
      "while the backward pass runs. Elsewhere, with --host-buffers or an option of theirs: each rank waits\n"
      "as long as its GPU would compute, and exchanges by a ring over TCP, then by one over RDMA. Sums are\n"
      "checked; no framework.\n"
      "Exit code 2: it failed, or is worse than the baseline; 3: a node could not be asked.");
  return [options, &app] { return run_bench_train(*options, app); };
}

}  // namespace railbed

// railbed predict: predicts the performance of a cluster's collectives, and checks measurements against that.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/files.h"
#include "campaign/look/predicted.h"
#include "cli/command.h"
#include "cli/document.h"
#include "cli/output.h"
#include "cli/plan/planning_commands.h"
#include "cli/plan/predict_options.h"
#include "cli/terminal.h"
#include "predict/shape_from_nodes.h"
#include "report/text/forecast_table.h"

namespace railbed {
namespace {

struct PredictOutput {
  std::map<std::string, std::string> units = {
      {"times", "ns"}, {"algbw, busbw, rate, low, high", "bit/s"}, {"bytes", "B"}};
  ClusterShape shape;
  Collective operation = Collective::kAllReduce;
  std::vector<Forecast> forecasts;    // with open questions: of the slowest answers
  std::vector<ForecastRange> ranges;  // over all answers; empty if no open question matters
  FIELDS(PredictOutput, units, shape, operation, forecasts, ranges);
};
constexpr Document<PredictOutput> kPredictDocument{"railbed-predict"};

struct CheckOutput {
  ClusterShape shape;
  ForecastFit verdict = ForecastFit::kFits;
  std::vector<PooledCheck> pooled;
  std::vector<ForecastCheck> checks;
  std::vector<Finding> explaining;
  FIELDS(CheckOutput, shape, verdict, pooled, checks, explaining);
};
constexpr Document<CheckOutput> kAgainstDocument{"railbed-predict-against"};
// Also what --calibration reads.
constexpr Document<Calibration> kCalibrationDocument{"railbed-calibration"};

int exit_of(ForecastFit fit) {
  return fit == ForecastFit::kFits       ? kExitClean
         : fit == ForecastFit::kDoubtful ? kExitWarnings
                                         : kExitFailures;
}

int run_against(const PredictOptions& options, const Subject& subject, const Calibration& calibration) {
  const auto run = find_run_to_check(options.store, options.against, terminal_caller());
  if (!run) return report(run.error());
  CheckOutput made;
  made.shape = subject.shape;
  for (const CollectiveReport& measured : run->collectives) settle_gpu(made.shape, measured);
  made.shape = slowest_shape(made.shape);
  made.checks = check_run(*run, made.shape, calibration);
  if (made.checks.empty())
    return report(Error{ErrorKind::kBadInput,
                        fmt::format("{}: it holds no collective between known GPUs, and no RDMA "
                                    "bandwidth whose link is known (name the adapters with --nic), so "
                                    "no number can be compared with a forecast",
                                    options.against)});
  RunVerdict verdict = verdict_of(made.checks);
  made.verdict = verdict.fit;
  made.pooled = verdict.pooled;
  const bool network = std::ranges::any_of(made.checks, [](const ForecastCheck& check) {
    return check.fit != ForecastFit::kFits && check.network;
  });
  if (made.verdict != ForecastFit::kFits && !subject.evidence.nodes.empty())
    made.explaining = explaining(verify(subject.evidence).findings, network);
  if (options.json)
    print_document(kAgainstDocument, made);
  else
    fmt::print("{}{}", check_table(made.checks, verdict, made.explaining), notes_text(made.shape));
  return exit_of(made.verdict);
}

int run_calibrate(const PredictOptions& options, const Subject& subject) {
  std::vector<BenchRun> runs;
  for (const std::string& word : options.calibrate) {
    auto run = find_run_to_check(options.store, word, terminal_caller());
    if (!run) return report(run.error());
    runs.push_back(std::move(*run));
  }
  ClusterShape shape = subject.shape;
  for (const BenchRun& run : runs)
    for (const CollectiveReport& measured : run.collectives) settle_gpu(shape, measured);
  drop_idle_questions(shape, {forecast_range(shape, Collective::kAllReduce, kReferenceBytes)});
  if (!shape.open.empty())
    return report(Error{ErrorKind::kBadInput,
                        fmt::format("{}: not known, and constants fitted to a guess would mislead: write {}",
                                    shape.open.front().what, shape.open.front().settle)});
  const auto times = times_to_fit(runs, shape);
  if (times.empty())
    return report(Error{ErrorKind::kBadInput,
                        "these runs hold no collective over two GPUs or more: railbed bench collectives"});
  const Calibration fitted = fit_calibration(
      times, shipped_calibration(), fmt::format("measured here: {}", fmt::join(options.calibrate, ", ")));
  Calibration kept = fitted;
  kept.curves = measured_curves(times, fitted);
  const std::string document = document_text(kCalibrationDocument, kept);
  if (!options.output.empty())
    if (const auto written = write_file(options.output, document); !written) return report(written.error());
  print_result(options.json ? document : calibration_table(fitted, times));
  if (!options.json && options.output.empty()) fmt::print("-o FILE keeps them for --calibration FILE\n");
  return kExitClean;
}

int print_forecasts(const PredictOptions& options, const Subject& subject, const Calibration& calibration) {
  const auto operation = predicted_operation(options);
  if (!operation) return report(operation.error());
  const auto sizes = predicted_sizes(options);
  if (!sizes) return report(sizes.error());
  const auto choice = predicted_choice(options);
  if (!choice) return report(choice.error());
  if (subject.shape.ranks() < 2)
    return report(Error{ErrorKind::kBadInput, "one GPU alone sends nothing: --gpus or --nodes"});
  PredictOutput made;
  made.shape = subject.shape;
  made.operation = *operation;
  const ClusterShape certain = slowest_shape(subject.shape);
  for (const std::uint64_t bytes : *sizes) {
    made.forecasts.push_back(forecast_collective(certain, *operation, bytes, calibration, *choice));
    made.ranges.push_back(forecast_range(subject.shape, *operation, bytes, calibration, *choice));
  }
  drop_idle_questions(made.shape, made.ranges);
  const bool open = !made.shape.open.empty();
  if (!open) {
    made.shape = certain;
    made.ranges.clear();
  }
  if (options.json) {
    print_document(kPredictDocument, made);
    return kExitClean;
  }
  fmt::print("{}", open ? forecast_range_table(made.shape, *operation, made.ranges, options.said)
                        : forecast_table(certain, *operation, made.forecasts, options.said));
  if (options.algorithms) fmt::print("{}", algorithms_table(certain, *operation, *sizes, *choice));
  return kExitClean;
}

int run_predict(const PredictOptions& options) {
  const auto subject = find_subject(options.cluster);
  if (!subject) return report(subject.error());
  if (!options.calibrate.empty()) return run_calibrate(options, *subject);
  const auto calibration = find_calibration(options.cluster);
  if (!calibration) return report(calibration.error());
  if (!options.against.empty()) return run_against(options, *subject, *calibration);
  if (options.csv) {
    keep_lines_whole();
    ClusterShape shape = subject->shape;
    drop_idle_questions(shape, {forecast_range(shape, Collective::kAllReduce, kReferenceBytes)});
    fmt::print("{}", tuner_csv(shape, *calibration));
    return kExitClean;
  }
  return print_forecasts(options, *subject, *calibration);
}

}  // namespace

Action declare_predict(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  declare_predict_options(app, *options);
  add_json_flag(app, options->json, "print one JSON document (docs/reference/predict.md)", kPredictDocument,
                kAgainstDocument, kCalibrationDocument);
  const auto chosen = add_predict_subcommands(app);
  app.footer(
      "\nWithout a subcommand: collectives. Examples:\n"
      "  railbed predict --gpu H100 --nodes 16 --nic 8x400ib\n"
      "  railbed predict --gpu A100 --nodes 2 --nic 4x200roce --op all_gather --sizes 1M:1G\n"
      "  railbed predict cluster.yaml --algorithms\n"
      "  railbed predict cluster.yaml --facts gpu01.json --against last\n"
      "  railbed predict --gpu H200 --calibrate last -o here.json\n\n"
      "Without a cluster: this machine. Exit codes with --against, of the run as a whole: 0 fits, 1 doubtful,\n"
      "2 falls short.\n"
      "How far forecasts are off: docs/reference/predict-accuracy.md");
  return [options, chosen] { return *chosen ? (*chosen)() : run_predict(*options); };
}

}  // namespace railbed

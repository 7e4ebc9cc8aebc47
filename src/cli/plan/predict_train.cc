// railbed predict train: a training step on a cluster that need not exist.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "base/fields.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/plan/training_options.h"
#include "cli/terminal.h"
#include "predict/training.h"
#include "report/text/forecast_table.h"
#include "report/text/training_text.h"

namespace railbed {
namespace {

struct TrainForecastOptions {
  TrainingOptions training;
  bool anyway = false;
  bool needs = false;
  bool scaling = false;
  double least = 0.5;
  int most_nodes = 1024;
  CheckpointPlan checkpoint;
  std::string storage;
  bool json = false;
};

struct TrainForecastOutput {
  std::map<std::string, std::string> units = {
      {"compute", "s"}, {"backward", "s"}, {"seconds", "s"},   {"exposed", "s"},          {"memory", "bytes"},
      {"step", "s"},    {"bubble", "s"},   {"least", "bit/s"}, {"least_adapter", "bit/s"}};
  TrainingMemory memory;
  MemoryFit fit = MemoryFit::kUnknown;
  std::vector<FittingPlan> would_fit;
  std::optional<TrainingForecast> forecast;
  std::optional<CheckpointForecast> checkpoint;
  std::optional<std::vector<NetworkNeed>> needs;
  std::optional<Scaling> scaling;
  FIELDS(TrainForecastOutput, units, memory, fit, would_fit, forecast, checkpoint, needs, scaling);
};
constexpr Document<TrainForecastOutput> kTrainForecastDocument{"railbed-predict-train"};

// The memory is judged first: without room there is no step to forecast, but for --anyway.
Result<TrainForecastOutput> output_of(const TrainForecastOptions& options, const TrainingPlan& plan,
                                      const CheckpointPlan& checkpoint) {
  TrainForecastOutput output;
  ASSIGN_OR_RETURN(const auto forecast, forecast_training(plan));
  const double capacity = gpu_memory(options.training, plan);
  output.memory = training_memory(plan, capacity);
  output.fit = output.memory.fit();
  if (output.memory.capacity > 0 && output.memory.all > capacity)
    output.would_fit = fitting_plans(plan, capacity);
  if (output.fit == MemoryFit::kTooMuch && !options.anyway) return output;
  output.forecast = forecast;
  output.checkpoint = forecast_checkpoint(forecast.parameters, checkpoint);
  if (options.needs) output.needs = network_needs(plan);
  if (!options.scaling) return output;
  ASSIGN_OR_RETURN(const auto scaling, forecast_scaling(plan, options.least, options.most_nodes));
  output.scaling = scaling;
  return output;
}

void print_output(const TrainForecastOutput& output, const TrainingPlan& plan,
                  const CheckpointPlan& checkpoint) {
  fmt::print("{}\n{}", describe(plan.shape()), taken_line(plan.shape()));
  if (output.forecast) fmt::print("{}", training_text(*output.forecast));
  fmt::print("{}", training_memory_text(plan, output.memory, output.would_fit));
  if (output.checkpoint) fmt::print("\n{}", checkpoint_text(*output.checkpoint, checkpoint));
  if (output.needs)
    fmt::print("\n{}", network_needs_text(*output.needs, plan.shape().nic_rate * plan.shape().nics));
  if (output.scaling) fmt::print("\n{}", scaling_text(*output.scaling));
}

int run_predict_train(const TrainForecastOptions& options) {
  const auto plan = training_plan(options.training);
  if (!plan) return report(plan.error());
  CheckpointPlan checkpoint = options.checkpoint;
  if (!options.storage.empty()) {
    const auto storage = rate_option("--storage", options.storage);
    if (!storage) return report(storage.error());
    checkpoint.storage = *storage;
  }
  const auto output = output_of(options, *plan, checkpoint);
  if (!output) return report(output.error());
  if (options.json)
    print_document(kTrainForecastDocument, *output);
  else
    print_output(*output, *plan, checkpoint);
  return output->fit == MemoryFit::kTooMuch ? kExitFailures
         : output->fit == MemoryFit::kTight ? kExitWarnings
                                            : kExitClean;
}

}  // namespace

Action declare_predict_train(CLI::App& app) {
  auto options = std::make_shared<TrainForecastOptions>();
  declare_training_options(app, options->training);
  app.add_flag("--anyway", options->anyway, "forecast the step even if it does not fit the GPUs' memory");
  app.add_flag("--needs", options->needs,
               "how fast the network must be for each of the guides' models, and why");
  app.add_flag("--scaling", options->scaling, "how many nodes pay, when the batch of all together stays");
  app.add_option("--least", options->least,
                 "part of a node's speed that one more node must bring (default 0.5)")
      ->check(between(0.01, 1.0));
  app.add_option("--most-nodes", options->most_nodes,
                 "largest number of nodes that --scaling looks at (default 1024)")
      ->check(between(2, 4096));
  app.add_option("--storage", options->storage,
                 "what checkpoints are written at, all together: \"17.6 Gb/s\"");
  app.add_option("--checkpoint-every", options->checkpoint.interval,
                 "seconds between checkpoints (default 1800)")
      ->check(between(1.0, 1e7));
  app.add_option("--checkpoint-bytes", options->checkpoint.bytes_per_parameter,
                 "of a parameter (default 14: with Adam)")
      ->check(between(0.5, 64.0));
  add_json_flag(app, options->json, "print one JSON document", kTrainForecastDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed predict train cluster.yaml --model bert-large\n"
      "  railbed predict train --model gpt2-xl --gpu V100 --gpus 2 --nodes 2 --nic 1x40roce --staged --needs\n"
      "  railbed predict train --parameters 70 --blocks 80 --hidden 8192 --tokens 4096 --gpu H200 --nodes 64 --nic 8x400ib \\\n"
      "      --tensor 8 --pipeline 4 --micro-batches 32 --batch 32 --sharding zero1\n"
      "  railbed predict train --model bert-large --gpu A100 --gpus 1 --nodes 8 --nic 1x100roce --scaling\n\n"
      "Exit codes: 2 if it does not fit the GPUs' memory, 1 if that depends on the software. Without a cluster: this machine. "
      "Arithmetic: docs/reference/predict-train.md says what it leaves out, and how far it was from what others\n"
      "published. railbed bench train measures.");
  return [options] { return run_predict_train(*options); };
}

}  // namespace railbed

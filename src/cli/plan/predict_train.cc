// railbed predict train: a training step on a cluster that need not exist.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/fields.h"
#include "base/json.h"
#include "cli/measure/enum_words.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/plan/predict_options.h"
#include "cli/terminal.h"
#include "hardware/gpu_model.h"
#include "predict/training.h"
#include "report/text/forecast_table.h"
#include "report/text/forecast_text.h"

namespace railbed {
namespace {

struct TrainForecastOptions {
  ShapeOptions cluster;
  TrainingPlan plan;
  ModelSize size;
  std::string model = "gpt2-xl";
  double billions = 0;
  double batch = 0;
  double mfu = 0.4;
  double teraflops = 0;
  bool needs = false;
  bool scaling = false;
  double least = 0.5;
  int most_nodes = 1024;
  CheckpointPlan checkpoint;
  std::string storage;
  bool json = false;
};

struct TrainForecastOutput {
  int version = 1;
  std::map<std::string, std::string> units = {
      {"compute", "s"}, {"backward", "s"}, {"seconds", "s"},   {"exposed", "s"},
      {"step", "s"},    {"bubble", "s"},   {"least", "bit/s"}, {"least_adapter", "bit/s"}};
  TrainingForecast forecast;
  CheckpointForecast checkpoint;
  std::optional<std::vector<NetworkNeed>> needs;
  std::optional<Scaling> scaling;
  FIELDS(TrainForecastOutput, version, units, forecast, checkpoint, needs, scaling);
};

// Returns the table's entries of a product line: "H100 80GB HBM3 (989), H100 PCIe (756)".
std::string gpus_with_speed(std::string_view piece) {
  std::string text;
  for (const GpuModel& model : gpu_models())
    if (model.tensor_tflops > 0 && model.name.find(piece) != std::string_view::npos)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", model.name, model.tensor_tflops);
  return text;
}

// Returns the GPU with its speed, which differs within a product line: "H100" with the NVLinks of the table's
// SXM module is that module.
const GpuModel* gpu_with_speed(const ClusterShape& shape) {
  const GpuModel* gpu = find_gpu_model(shape.gpu);
  if (gpu == nullptr || gpu->tensor_tflops > 0 || shape.nvlinks == 0) return gpu;
  const auto same = std::ranges::find_if(gpu_models(), [&](const GpuModel& model) {
    return model.name.starts_with(gpu->name) && model.nvlinks == shape.nvlinks;
  });
  return same != gpu_models().end() ? &*same : gpu;
}

Result<double> flops_of(const TrainForecastOptions& options, const ClusterShape& shape) {
  if (options.teraflops > 0) return options.teraflops * 1e12;
  const GpuModel* gpu = gpu_with_speed(shape);
  if (gpu != nullptr && gpu->tensor_tflops > 0) return options.mfu * gpu->tensor_tflops * 1e12;
  const std::string alike = gpus_with_speed(shape.gpu);
  return fail(ErrorKind::kBadInput,
              fmt::format("GPU {}: {}; or say with --teraflops what it reaches", shape.gpu,
                          alike.empty() ? "the table has no speed for it. It has these, in TFLOP/s: " +
                                              gpus_with_speed("")
                                        : "several products have that name. Say which (TFLOP/s): " + alike));
}

Result<TrainingPlan> plan_of(const TrainForecastOptions& options) {
  TrainingPlan plan = options.plan;
  ModelSize size = options.size;
  size.parameters = options.billions * 1e9;
  plan.model = options.billions > 0 ? model_of(size) : *find_model(options.model);
  plan.batch = options.batch > 0 ? options.batch : static_cast<double>(plan.model.batch);
  ASSIGN_OR_RETURN(const auto subject, find_subject(options.cluster));
  ASSIGN_OR_RETURN(const auto calibration, find_calibration(options.cluster));
  plan.cluster = {subject.shape, calibration};
  ASSIGN_OR_RETURN(const auto flops, flops_of(options, subject.shape));
  plan.flops_per_second = flops;
  return plan;
}

Result<TrainForecastOutput> output_of(const TrainForecastOptions& options, const TrainingPlan& plan,
                                      const CheckpointPlan& checkpoint) {
  TrainForecastOutput output;
  ASSIGN_OR_RETURN(const auto forecast, forecast_training(plan));
  output.forecast = forecast;
  output.checkpoint = forecast_checkpoint(forecast.parameters, checkpoint);
  if (options.needs) output.needs = network_needs(plan);
  if (!options.scaling) return output;
  ASSIGN_OR_RETURN(const auto scaling, forecast_scaling(plan, options.least, options.most_nodes));
  output.scaling = scaling;
  return output;
}

int run_predict_train(const TrainForecastOptions& options) {
  const auto plan = plan_of(options);
  if (!plan) return report(plan.error());
  CheckpointPlan checkpoint = options.checkpoint;
  if (!options.storage.empty()) {
    const auto storage = rate_option("--storage", options.storage);
    if (!storage) return report(storage.error());
    checkpoint.storage = *storage;
  }
  const auto output = output_of(options, *plan, checkpoint);
  if (!output) return report(output.error());
  if (options.json) {
    fmt::print("{}", json::dump_pretty(json::encode(*output)));
    return kExitClean;
  }
  fmt::print("{}\n{}{}\n{}", describe(plan->shape()), taken_line(plan->shape()), training_text(output->forecast),
             checkpoint_text(output->checkpoint, checkpoint));
  if (output->needs)
    fmt::print("\n{}", network_needs_text(*output->needs, plan->shape().nic_rate * plan->shape().nics));
  if (output->scaling) fmt::print("\n{}", scaling_text(*output->scaling));
  return kExitClean;
}

void add_model_options(CLI::App& app, TrainForecastOptions& options) {
  const auto models = model_words();
  auto* model =
      app.add_option("--model", options.model, "resnet50, bert-base, bert-large, gpt2, gpt2-xl (default), 7b")
          ->check(one_of(std::vector<std::string>(models.begin(), models.end())));
  app.add_option("--parameters", options.billions, "parameters of a transformer of your own, in 10^9")
      ->check(between(0.001, 100000.0))
      ->excludes(model);
  app.add_option("--blocks", options.size.blocks, "blocks of it (default 32)")->check(between(1, 1000));
  app.add_option("--hidden", options.size.hidden, "its width (default 4096)")->check(between(64, 1 << 20));
  app.add_option("--tokens", options.size.tokens, "tokens of its sequences (default 2048)")
      ->check(between(1, 1 << 24));
  app.add_option("--batch", options.batch, "samples of each replica and step (default: a usual number)")
      ->check(between(0.001, 1e9));
  app.add_option("--dtype-bytes", options.plan.word_bytes, "bytes of a gradient: 4 (default) or 2")
      ->check(one_of({"2", "4"}));
}

void add_split_options(CLI::App& app, TrainingPlan& plan) {
  app.add_flag("--sharded", plan.sharded, "parameters and gradients over all replicas: FSDP, ZeRO-3");
  app.add_option("--tensor", plan.tensor, "GPUs that share each block's matrices (default 1)")
      ->check(between(1, 4096));
  app.add_option("--pipeline", plan.pipeline, "stages of a pipeline (default 1)")->check(between(1, 1000));
  app.add_option("--micro-batches", plan.micro_batches, "parts of a replica's batch (default 1)")
      ->check(between(1, 1 << 20));
  app.add_option("--expert", plan.expert, "replicas that share each block's experts (default 1)")
      ->check(between(1, 4096));
  app.add_option("--experts", plan.experts, "experts of a block (default 1)")->check(between(1, 4096));
  app.add_option("--experts-used", plan.experts_used, "experts that each token uses (default 1)")
      ->check(between(1, 64));
  app.add_option("--expert-share", plan.expert_share, "part of the parameters that lies in experts: 0.9")
      ->check(between(0.0, 1.0));
  app.add_option("--overlap", plan.overlap,
                 "part of the backward pass that exchanges run beneath (default 1)")
      ->check(between(0.0, 1.0));
}

void add_speed_options(CLI::App& app, TrainForecastOptions& options) {
  app.add_option("--mfu", options.mfu, "part of its data sheet's speed that training reaches (default 0.4)")
      ->check(between(0.01, 1.0));
  app.add_option("--teraflops", options.teraflops, "instead of --mfu: the TFLOP/s that a GPU reaches")
      ->check(between(0.001, 1e5));
}

}  // namespace

Action declare_predict_train(CLI::App& app) {
  auto options = std::make_shared<TrainForecastOptions>();
  add_model_options(app, *options);
  declare_shape_options(app, options->cluster);
  add_speed_options(app, *options);
  add_split_options(app, options->plan);
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
  app.add_flag("--json", options->json, "print one JSON document");
  app.footer(
      "\nExamples:\n"
      "  railbed predict train cluster.yaml --model bert-large\n"
      "  railbed predict train --model gpt2-xl --gpu V100 --gpus 2 --nodes 2 --nic 1x40roce --staged --needs\n"
      "  railbed predict train --parameters 70 --blocks 80 --hidden 8192 --tokens 4096 --gpu H200 --nodes 64 --nic 8x400ib \\\n"
      "      --tensor 8 --pipeline 4 --micro-batches 32 --batch 32\n"
      "  railbed predict train --model bert-large --gpu A100 --gpus 1 --nodes 8 --nic 1x100roce --scaling\n\n"
      "Without a cluster: this machine. "
      "Arithmetic: docs/reference/predict-train.md says what it leaves out, and how far it was from what others\n"
      "published. railbed bench train measures.");
  return [options] { return run_predict_train(*options); };
}

}  // namespace railbed

// railbed predict goodput: what remains of a long training run, and what it costs.
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
#include "hardware/gpu_product.h"
#include "predict/goodput.h"
#include "predict/prices.h"
#include "predict/training.h"
#include "report/text/forecast_table.h"
#include "report/text/training_text.h"

namespace railbed {
namespace {

struct GoodputOptions {
  TrainingOptions training;
  GoodputPlan plan;
  std::string storage;
  std::string prices;
  double bytes_per_parameter = CheckpointPlan{}.bytes_per_parameter;
  double repair_hours = 24;
  bool json = false;
};

struct GoodputOutput {
  std::map<std::string, std::string> units = {
      {"write", "s"}, {"between", "s"}, {"interval", "s"}, {"best_interval", "s"}, {"step", "s"}};
  std::string currency;
  TrainingForecast training;
  GoodputForecast goodput;
  FIELDS(GoodputOutput, units, currency, training, goodput);
};
constexpr Document<GoodputOutput> kGoodputDocument{"railbed-predict-goodput"};

// Returns the rated watts; 0 if the table does not have them.
double watts_of(const ClusterShape& shape) {
  const GpuSpeed* speed = shape.nvlinks > 0 ? find_module_speed(shape.gpu) : nullptr;
  const GpuProduct* product = find_gpu_product(speed != nullptr ? speed->name : shape.gpu);
  return product != nullptr ? product->watts : 0;
}

Result<GoodputPlan> goodput_plan(const GoodputOptions& options, const TrainingPlan& training,
                                 const TrainingForecast& forecast, const PriceList& prices) {
  GoodputPlan plan = options.plan;
  ASSIGN_OR_RETURN(plan.storage, rate_option("--storage", options.storage));
  plan.nodes = training.shape().nodes;
  plan.gpus = training.shape().gpus;
  plan.checkpoint_bytes = forecast.parameters * options.bytes_per_parameter;
  plan.repair = options.repair_hours * 3600;
  if (plan.gpu_watts <= 0) plan.gpu_watts = watts_of(training.shape());
  plan.tokens_per_second = forecast.tokens_per_second;
  plan.step = forecast.step;
  plan.kilowatt_hour = prices.price_of(UpgradePartKind::kKilowattHour);
  plan.gpu_hour = prices.price_of(UpgradePartKind::kGpuHour);
  return plan;
}

int run_predict_goodput(const GoodputOptions& options) {
  const auto prices = read_prices(options.prices);
  if (!prices) return report(prices.error());
  const auto training = training_plan(options.training);
  if (!training) return report(training.error());
  const auto forecast = forecast_training(*training);
  if (!forecast) return report(forecast.error());
  const auto plan = goodput_plan(options, *training, *forecast, *prices);
  if (!plan) return report(plan.error());
  const GoodputForecast goodput = forecast_goodput(*plan);
  if (options.json)
    print_document(kGoodputDocument,
                   GoodputOutput{.currency = prices->currency, .training = *forecast, .goodput = goodput});
  else
    fmt::print("{}\n{}{}", describe(training->shape()), taken_line(training->shape()),
               goodput_text(*plan, goodput, prices->currency));
  return kExitClean;
}

}  // namespace

Action declare_predict_goodput(CLI::App& app) {
  auto options = std::make_shared<GoodputOptions>();
  declare_training_options(app, options->training);
  GoodputPlan& plan = options->plan;
  app.add_option("--storage", options->storage, "what checkpoints are written at, all together: 800G")
      ->required();
  app.add_option("--stall", plan.stall,
                 "seconds that a checkpoint stops training, if it is written beside it (default: all of it)")
      ->check(between(0.001, 1e5));
  app.add_option("--checkpoint-every", plan.interval, "seconds between checkpoints (default: the best)")
      ->check(between(1.0, 1e7));
  app.add_option("--checkpoint-bytes", options->bytes_per_parameter, "of a parameter (default 14: with Adam)")
      ->check(between(0.5, 64.0));
  app.add_option("--failures", plan.failures,
                 "that end a job, of 1,000 nodes in a day (default: three published rates)")
      ->check(between(1e-6, 1e5));
  app.add_option("--restart", plan.restart, "seconds from a failure to the next step (default 600)")
      ->check(between(0.1, 1e6));
  app.add_option("--spares", plan.spares, "nodes that wait to replace a broken one (default 0)")
      ->check(between(0, 10000));
  app.add_option("--repair", options->repair_hours, "hours until a broken node is back (default 24)")
      ->check(between(0.01, 10000.0));
  app.add_option("--gpu-watts", plan.gpu_watts, "of a GPU (default: its data sheet's)")
      ->check(between(1.0, 10000.0));
  app.add_option("--node-overhead", plan.node_overhead,
                 "watts of the rest of a node, as a part of its GPUs' (default 0.82)")
      ->check(between(0.0, 10.0));
  app.add_option("--pue", plan.pue, "all power by that of the computers (default 1.56)")
      ->check(between(1.0, 5.0));
  app.add_option("--prices", options->prices,
                 "your prices: {currency: EUR, kilowatt-hour: 0.25, gpu-hour: 2}");
  add_json_flag(app, options->json, "print one JSON document", kGoodputDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed predict goodput --model llama3-405b --gpu H100 --nodes 2048 --nic 8x400roce --tensor 8 --pipeline 16 \\\n"
      "      --micro-batches 16 --batch 16 --sharding zero1 --storage 16000G --spares 30\n"
      "  railbed predict goodput cluster.yaml --model 7b --sharding fsdp --storage 80G --prices prices.yaml\n\n"
      "Arithmetic: docs/reference/predict-goodput.md says where each number comes from.");
  return [options] { return run_predict_goodput(*options); };
}

}  // namespace railbed

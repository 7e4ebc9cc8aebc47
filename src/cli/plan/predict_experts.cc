// railbed predict experts: what a layer with experts exchanges.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "base/fields.h"
#include "cli/document.h"
#include "cli/option_checks.h"
#include "cli/plan/planning_commands.h"
#include "cli/plan/predict_options.h"
#include "cli/terminal.h"
#include "predict/experts.h"
#include "report/text/experts_text.h"

namespace railbed {
namespace {

struct ExpertOptions {
  ShapeOptions cluster;
  ExpertBatch batch;
  std::string dispatch = "fp8";
  bool json = false;
};

struct ExpertOutput {
  std::map<std::string, std::string> units = {
      {"seconds", "s"}, {"low", "s"}, {"high", "s"}, {"bandwidth", "B/s"}, {"limit.rate", "bit/s"}};
  ClusterShape shape;
  ExpertReach reach;
  std::vector<ExpertForecast> forecasts;
  FIELDS(ExpertOutput, units, shape, reach, forecasts);
};
constexpr Document<ExpertOutput> kExpertDocument{"railbed-predict-experts"};

Result<ExpertOutput> forecast_all(const ExpertOptions& options) {
  ExpertBatch batch = options.batch;
  batch.fp8 = options.dispatch == "fp8";
  ASSIGN_OR_RETURN(const auto subject, find_subject(options.cluster));
  ASSIGN_OR_RETURN(const auto calibration, find_calibration(options.cluster));
  const TrainingCluster cluster{subject.shape, calibration};
  ExpertOutput output;
  output.shape = subject.shape;
  for (const ExpertKernels kernels : kernels_for(subject.shape))
    for (const ExpertStep step : {ExpertStep::kDispatch, ExpertStep::kCombine}) {
      ASSIGN_OR_RETURN(auto forecast, forecast_experts(kernels, step, batch, cluster));
      output.forecasts.push_back(std::move(forecast));
    }
  output.reach = expert_reach(batch, subject.shape);
  return output;
}

int run_experts(const ExpertOptions& options) {
  const auto output = forecast_all(options);
  if (!output) return report(output.error());
  if (options.json)
    print_document(kExpertDocument, *output);
  else
    fmt::print("{}\n{}", describe(output->shape),
               experts_text(options.batch, output->reach, output->forecasts));
  return kExitClean;
}

}  // namespace

Action declare_predict_experts(CLI::App& app) {
  auto options = std::make_shared<ExpertOptions>();
  ExpertBatch& batch = options->batch;
  declare_shape_options(app, options->cluster);
  app.add_option("--tokens", batch.tokens, "tokens of each GPU (default 4096; decoding: 128)")
      ->check(between(1, 1 << 20));
  app.add_option("--hidden", batch.hidden, "values of a token (default 7168)")->check(between(64, 1 << 20));
  app.add_option("--top-k", batch.used, "experts of each token (default 8)")->check(between(1, 64));
  app.add_option("--experts", batch.experts, "experts of the layer, over all GPUs (default 256)")
      ->check(between(2, 1 << 16));
  app.add_option("--groups", batch.groups,
                 "most nodes that hold a token's experts: DeepSeek-V3 has 4 (default: no limit)")
      ->check(between(1, 4096));
  app.add_option("--dispatch", options->dispatch, "type of dispatched values: fp8 (default), bf16")
      ->check(one_of({"fp8", "bf16"}));
  add_json_flag(app, options->json, "print one JSON document", kExpertDocument);
  app.footer(
      "\nExamples:\n"
      "  railbed predict experts --gpu H800 --nodes 4 --nic 8x400ib --groups 4             DeepSeek-V3, training\n"
      "  railbed predict experts --gpu H100 --nodes 8 --nic 8x400ib --tokens 128           decoding\n"
      "  railbed predict experts cluster.yaml --tokens 128 --dispatch bf16\n\n"
      "All GPUs share the experts. Without a cluster: this machine. docs/reference/predict-experts.md says what it\n"
      "leaves out.");
  return [options] { return run_experts(*options); };
}

}  // namespace railbed

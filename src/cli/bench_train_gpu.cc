// railbed bench train on GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "campaign/gpu_remedy.h"
#include "cli/terminal.h"
#include "cli/train_command.h"
#include "hardware/collective_ceiling.h"
#include "hardware/gpu_model.h"
#include "nccl/log.h"

namespace railbed {
namespace {

GpuTrainPlan plan_of(const TrainOptions& options, const StepPlan& step) {
  GpuTrainPlan plan;
  plan.model = options.model;
  plan.step = step;
  plan.seconds = options.seconds;
  plan.cublas = options.cublas;
  plan.place.library = options.nccl;
  return plan;
}

// Of the slowest; 0 where one of them is not in the table, or computes in 32 bits.
double peak_flops(const GpuTrainResult& result) {
  int least = 0;
  for (const CollectiveRank& rank : result.ranks) {
    const GpuModel* model = find_gpu_model(rank.gpu.name);
    if (model == nullptr || model->tensor_tflops == 0 || result.means.type == "fp32") return 0;
    least = least == 0 ? model->tensor_tflops : std::min(least, model->tensor_tflops);
  }
  return least * 1e12;
}

Ceiling ceiling_of(const GpuTrainResult& result, const Surveyed& surveyed) {
  CollectiveReport exchange;
  exchange.ranks = result.ranks;
  return collective_ceiling(exchange, surveyed.facts);
}

}  // namespace

std::vector<std::string> nodes_without_gpus(const Surveyed& surveyed) {
  std::vector<std::string> names;
  for (const auto& [node, facts] : surveyed.facts)
    if (!facts.gpus.devices.ok() || facts.gpus.devices->empty() || !facts.gpus.driver_version.ok())
      names.push_back(node);
  return names;
}

int train_on_gpus(const TrainOptions& options, const Model& model, const std::vector<GpuNodeEnd>& nodes,
                  const Surveyed& surveyed) {
  StepPlan step = options.plan;
  if (step.batch == 0) step.batch = model.batch;
  const auto rehearse = [&] {
    progress(fmt::format("rehearsing {} on the GPUs of {} {}", model.name, nodes.size(),
                         nodes.size() == 1 ? "node" : "nodes"));
    nccl::LogReader reader;
    const GpuTrainResult result =
        measure_gpu_train(nodes, plan_of(options, step),
                          {progress, [&](std::string_view text) { reader.feed(text); }}, interrupted());
    TrainReport report = report_of(model, step, result);
    report.peak_flops = peak_flops(result);
    report.ceiling = ceiling_of(result, surveyed);
    const nccl::Log log = reader.finish();
    for (const nccl::LogNetwork& network : log.networks)
      if (nodes.size() > 1) report.libraries += ", network " + network.name;
    if (report.failure && report.failure->remedy.empty() && !interrupted().stop_requested())
      report.failure->remedy = gpu_remedy(*report.failure, log, "take a smaller --batch");
    return report;
  };
  return keep_rehearsals(options, {rehearse}, surveyed);
}

}  // namespace railbed

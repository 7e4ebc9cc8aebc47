#include <fmt/format.h>

#include <algorithm>

#include "campaign/measure/gpu_remedy.h"
#include "campaign/measure/rehearsals.h"
#include "diagnose/log/job_log.h"
#include "hardware/collective_ceiling.h"
#include "hardware/gpu_speed.h"

namespace railbed {
namespace {

GpuTrainPlan plan_of(const TrainChoice& choice, const StepPlan& step) {
  GpuTrainPlan plan;
  plan.model = choice.model;
  plan.step = step;
  plan.seconds = choice.seconds;
  plan.stretch_to = choice.step_seconds;
  plan.cublas = choice.cublas;
  plan.place.library = choice.nccl;
  return plan;
}

// Returns the peak rate of the slowest GPU; 0 if one of them is not in the table or computes in 32 bits.
double peak_flops(const GpuTrainResult& result) {
  double least = 0;
  for (const CollectiveRank& rank : result.ranks) {
    const GpuSpeed* speed = find_gpu_speed(rank.gpu.name);
    if (speed == nullptr || speed->half <= 0 || result.means.type == "fp32") return 0;
    least = least <= 0 ? speed->half : std::min(least, speed->half);
  }
  return least * 1e12;
}

Ceiling ceiling_of(const GpuTrainResult& result, const Surveyed& surveyed) {
  CollectiveReport exchange;
  exchange.ranks = result.ranks;
  return collective_ceiling(exchange, surveyed.facts);
}

TrainReport rehearse_on(const std::vector<GpuNodeEnd>& nodes, const TrainChoice& choice, const Model& model,
                        const Surveyed& surveyed, const Caller& caller) {
  StepPlan step = choice.step;
  step.batch = choice.batch == 0 ? model.batch : choice.batch;
  caller.progress(fmt::format("rehearsing {} on the GPUs of {} {}", model.name, nodes.size(),
                              nodes.size() == 1 ? "node" : "nodes"));
  diagnose::LogReader reader;
  const GpuTrainResult result =
      measure_gpu_train(nodes, plan_of(choice, step),
                        {caller.progress, [&](std::string_view text) { reader.feed(text); }}, caller.stop);
  TrainReport report = report_of(model, step, result);
  if (choice.step_seconds > 0)
    report.compute_kind += fmt::format(", stretched to {:.4g} ms", choice.step_seconds * 1e3);
  report.peak_flops = peak_flops(result);
  report.ceiling = ceiling_of(result, surveyed);
  const diagnose::Log log = reader.finish();
  for (const diagnose::LogNetwork& network : log.networks)
    if (nodes.size() > 1) report.libraries += ", network " + network.name;
  if (report.failure && report.failure->remedy.empty() && !caller.stop.stop_requested())
    report.failure->remedy = gpu_remedy(*report.failure, log, "take a smaller --batch");
  return report;
}

}  // namespace

std::vector<std::string> nodes_without_gpus(const Surveyed& surveyed) {
  std::vector<std::string> names;
  for (const auto& [node, facts] : surveyed.facts)
    if (!facts.gpus.devices.ok() || facts.gpus.devices->empty() || !facts.gpus.driver_version.ok())
      names.push_back(node);
  return names;
}

Rehearsals rehearsals_on_gpus(const TrainChoice& choice, const Model& model,
                              const std::vector<GpuNodeEnd>& nodes, const Surveyed& surveyed,
                              const Caller& caller) {
  return {[&] { return rehearse_on(nodes, choice, model, surveyed, caller); }};
}

}  // namespace railbed

#include "bench/train/measure_gpu_train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "bench/core/typed.h"
#include "bench/statistics/statistics.h"

namespace railbed {
namespace {

class GpuTrainRun {
 public:
  GpuTrainRun(const std::vector<GpuNodeEnd>& nodes, const GpuTrainPlan& plan, const OnNcclRun& on,
              std::stop_token stop)
      : nodes_(nodes),
        plan_(plan),
        nccl_(nodes, plan.place.library, on, std::move(stop)),
        told_(nodes.size(), 0) {}

  GpuTrainResult run() {
    nccl_.run([this](std::size_t i, const NodePlace& place,
                     std::stop_token stop) { return start(i, place, std::move(stop)); },
              [this](std::size_t i, std::string_view line) { return take(i, line); });
    // Drop the rounds that not every node has finished.
    rounds_.resize(std::min(rounds_.size(), *std::ranges::min_element(told_)));
    for (const GpuTrainRound& round : rounds_) {
      result_.times.step.push_back(round.step);
      result_.times.exchange.push_back(round.exchange);
      result_.times.compute.push_back(round.compute);
    }
    result_.ranks = std::move(nccl_.ranks);
    result_.nccl = nccl_.version;
    result_.times.failure = nccl_.failure;
    if (result_.times.wrong_bytes > 0)
      result_.times.failure =
          Failure{"verify", fmt::format("{} bytes of summed gradients are wrong", result_.times.wrong_bytes),
                  "railbed verify --load looks for memory and link errors"};
    return std::move(result_);
  }

 private:
  Result<ChildName> start(std::size_t i, const NodePlace& place, std::stop_token stop) {
    GpuTrainPlan plan = plan_;
    plan.place = place;
    return ask<ChildName>(*nodes_[i].peer, kGpuTrain, plan, kStartDeadline, std::move(stop));
  }

  Result<std::optional<NodeNews>> take(std::size_t i, std::string_view line) {
    ASSIGN_OR_RETURN(auto news, json::read<GpuTrainNews>(line));
    if (news.means && (i == 0 || result_.means.cublas.empty())) result_.means = *news.means;
    if (news.round && told_[i] < static_cast<std::size_t>(kMostRounds)) {
      const std::size_t number = told_[i]++;
      if (number >= rounds_.size()) rounds_.emplace_back();
      keep_slower(rounds_[number], *news.round);
    }
    if (news.ready && i == 0) result_.ready = std::move(*news.ready);
    if (news.checked) {
      result_.times.checked_bytes += news.checked->bytes;
      result_.times.wrong_bytes += news.checked->wrong_bytes;
    }
    return std::move(news.node);
  }

  const std::vector<GpuNodeEnd>& nodes_;
  const GpuTrainPlan& plan_;
  NcclRun nccl_;
  GpuTrainResult result_;
  std::vector<GpuTrainRound> rounds_;  // the slowest of the nodes that have reported it
  std::vector<std::size_t> told_;      // number of rounds that each node has reported
};

std::string gpu_names(const std::vector<CollectiveRank>& ranks) {
  std::set<std::string> names;
  for (const CollectiveRank& rank : ranks) names.insert(rank.gpu.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Returns the step at the measured rate, with the measured times at which buckets were ready.
Step measured_step(const Model& model, StepPlan plan, const GpuTrainResult& result, double flops) {
  plan.flops_per_second = flops;
  Step step = make_step(model, plan);
  if (result.ready.size() != step.buckets.size()) return step;
  double before = 0;
  for (std::size_t i = 0; i < step.buckets.size(); ++i)
    step.buckets[i].ready = before = std::max(before, std::clamp(result.ready[i], 0.0, 1.0) * step.compute);
  return step;
}

}  // namespace

double train_patience(const GpuTrainPlan& plan) {
  const auto model = find_model(plan.model);
  if (!model) return plan.patience;
  const double bits = static_cast<double>(model->parameters() * plan.step.word_bytes * 8);
  return std::min(60 + 3 * plan.stretch_to + step_flops(*model, plan.step.batch) / 1e12 + 2 * bits / 1e9,
                  86'400.0);
}

GpuTrainResult measure_gpu_train(const std::vector<GpuNodeEnd>& nodes, GpuTrainPlan plan, const OnNcclRun& on,
                                 std::stop_token stop) {
  plan.patience = train_patience(plan);
  GpuTrainResult result = GpuTrainRun(nodes, plan, on, stop).run();
  if (stop.stop_requested()) result.times.failure = stopped_failure();
  return result;
}

TrainReport report_of(const Model& model, const StepPlan& plan, const GpuTrainResult& result) {
  const auto ranks = static_cast<int>(result.ranks.size());
  const double compute = result.times.compute.empty() ? 0 : median_interval(result.times.compute).median;
  const double flops = compute > 0 ? step_flops(model, plan.batch) / compute : 0;
  StepPlan measured = plan;
  measured.flops_per_second = flops;
  const Step step = measured_step(model, plan, result, flops > 0 ? flops : 1);
  TrainReport report = report_of(model, measured, step, ranks, result.times);
  if (flops == 0) report.hiding_rate = {};  // the time of the computing is unknown
  for (const CollectiveRank& rank : result.ranks) report.nodes.push_back(rank.node);
  report.transport = "NCCL";
  report.compute_kind = fmt::format("cuBLAS {} on {}", result.means.type, gpu_names(result.ranks));
  report.libraries = fmt::format("NCCL {}, cuBLAS {}", result.nccl, result.means.cublas);
  report.memory_bytes = result.means.memory_bytes;
  report.on_gpus = true;
  return report;
}

}  // namespace railbed

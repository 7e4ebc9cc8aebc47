#include <fmt/format.h>

#include <algorithm>

#include "bench/train/measure_train.h"
#include "campaign/measure/rehearsals.h"

namespace railbed {
namespace {

// Returns why this transport cannot be used between these ranks; empty if it can.
std::string obstacle(Engine transport, const std::vector<PairEnd>& ends) {
  for (const PairEnd& end : ends) {
    if (transport == Engine::kTcp && !has_ip(end))
      return fmt::format("{} of {} has no IP address in cluster.yaml: TCP needs one", end.interface,
                         end.peer->node());
    if (transport == Engine::kRdma &&
        (end.facts == nullptr || !rdma_port_of(end.facts->rdma, end.facts->net, end.interface)))
      return fmt::format("{} of {} has no RDMA device: `rdma link` must list it", end.interface,
                         end.peer->node());
  }
  return "";
}

// Returns the requested transports, or all that can be used. Fails if a requested one, or every one, cannot
// be used.
Result<std::vector<Engine>> transports_of(const TrainChoice& choice, const std::vector<PairEnd>& ends) {
  std::vector<Engine> transports;
  std::string why;
  for (const Engine transport : {Engine::kTcp, Engine::kRdma}) {
    const bool is_wanted = std::ranges::find(choice.transports, transport) != choice.transports.end();
    if (!choice.transports.empty() && !is_wanted) continue;
    const std::string found = obstacle(transport, ends);
    if (found.empty())
      transports.push_back(transport);
    else if (is_wanted)
      return fail(ErrorKind::kUnavailable, found);
    else if (why.empty())
      why = found;
  }
  if (transports.empty()) return fail(ErrorKind::kUnavailable, why);
  return transports;
}

TrainReport rehearse_over(Engine transport, const TrainChoice& choice, const Model& model,
                          const std::vector<PairEnd>& ends, const Caller& caller) {
  constexpr std::uint64_t kBatch = 8;
  StepPlan plan = choice.step;
  plan.batch = choice.batch == 0 ? kBatch : choice.batch;
  if (choice.step_seconds > 0) plan.flops_per_second = step_flops(model, plan.batch) / choice.step_seconds;
  const Step step = make_step(model, plan);
  const std::string over = transport == Engine::kRdma ? "RDMA" : "TCP";
  caller.progress(
      fmt::format("rehearsing {} on {} ranks over {}, {:.3g} s or {} rounds of a step of {:.3g} s and more",
                  model.name, ends.size(), over, choice.seconds, kFewestRounds, step.compute));
  const TrainResult result =
      measure_train(ends, transport, step, static_cast<int>(plan.word_bytes), choice.seconds, caller.stop);
  TrainReport report = report_of(model, plan, step, static_cast<int>(ends.size()), result);
  for (const PairEnd& end : ends) report.nodes.push_back(end.peer->node());
  report.transport = over;
  report.compute_kind = "simulated on CPUs";
  return report;
}

}  // namespace

Result<Rehearsals> rehearsals_in_host_buffers(const TrainChoice& choice, const Model& model,
                                              const std::vector<PairEnd>& ends, const Caller& caller) {
  const auto transports = transports_of(choice, ends);
  if (!transports) return tl::unexpected<Error>(transports.error());
  Rehearsals rehearsals;
  for (const Engine transport : *transports)
    rehearsals.emplace_back([&, transport] { return rehearse_over(transport, choice, model, ends, caller); });
  return rehearsals;
}

}  // namespace railbed

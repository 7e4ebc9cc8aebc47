#include "campaign/measure/gpu_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/collective/measure_collective.h"
#include "bench/core/child_session.h"
#include "bench/core/typed.h"
#include "bench/pairs/measure.h"
#include "bench/verbs/rdma.h"

namespace railbed {
namespace {

bool is_staged(const Measurement& measurement) {
  const std::string_view staged = to_text(MemoryRoute::kStaged);
  return measurement.from.memory.ends_with(staged) || measurement.to.memory.ends_with(staged);
}

// Returns CUDA's ordinal of the end's GPU, which depends on the environment.
Result<int> ordinal_of(const NcclEnd& end, const std::stop_token& stop) {
  Peer& peer = *end.peer;
  const auto visible = ask<VisibleGpus>(peer, kVisibleGpus, VisibleGpus{}, kStartDeadline, stop);
  if (!visible) return fail(at_node(peer.node(), visible.error()));
  if (!visible->error.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", peer.node(), visible->error));
  const auto found = std::ranges::find(visible->gpus, end.gpu, &VisibleGpu::address);
  if (found == visible->gpus.end())
    return fail(ErrorKind::kUnavailable, fmt::format("{}: CUDA does not show GPU {}", peer.node(), end.gpu));
  return found->ordinal;
}

}  // namespace

std::vector<Measurement> measure_gpu_memory(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                            BenchPlan plan, const OnMeasuring& on_measuring,
                                            const std::stop_token& stop) {
  plan.engines = {Engine::kRdma};
  plan.memory = "gpu";
  auto measured = measure_pair(a, b, rail, plan, on_measuring, stop);
  if (std::ranges::none_of(measured, is_staged)) return measured;
  plan.operations = {RdmaOperation::kSend};
  return measure_pair(a, b, rail, plan, on_measuring, stop);
}

Result<NcclPairRun> run_nccl_pair(const NcclEnd& a, const NcclEnd& b, const CollectivePlan& plan,
                                  const OnMeasuring& on_measuring, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const int of_a, ordinal_of(a, stop));
  ASSIGN_OR_RETURN(const int of_b, ordinal_of(b, stop));
  diagnose::LogReader reader;
  NcclPairRun run;
  run.report = measure_collective({{a.peer, {of_a}, a.network}, {b.peer, {of_b}, b.network}}, plan,
                                  std::chrono::steady_clock::now(),
                                  {on_measuring, [&](std::string_view text) { reader.feed(text); }}, stop);
  run.log = reader.finish();
  return run;
}

}  // namespace railbed

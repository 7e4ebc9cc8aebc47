#include "campaign/measure/measure_ladder.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/collective/measure_collective.h"
#include "bench/pairs/measure.h"
#include "bench/pairs/measure_rails.h"
#include "bench/verbs/gpu_choice.h"
#include "campaign/caller.h"
#include "campaign/measure/gpu_pair.h"
#include "nccl/choice.h"

namespace railbed {
namespace {

constexpr std::uint64_t kRdmaBytes = 1 << 20;
constexpr std::uint64_t kCmBytes = 4096;
constexpr double kCmSeconds = 0.5;

// Returns the plan with which `bench tcp` and `bench rdma` run this engine, so that results compare.
BenchPlan as_bench_runs(Engine engine, double seconds) {
  BenchPlan plan;
  plan.engines = {engine};
  plan.latency = false;
  plan.sizes = engine == Engine::kTcp ? default_sizes(engine) : std::vector{kRdmaBytes};
  plan.seconds = seconds;
  return plan;
}

bool carried(const Ladder& ladder, RungKind kind) {
  return std::ranges::any_of(ladder.rungs,
                             [&](const Rung& rung) { return rung.kind == kind && rung.has_number(); });
}

// Adds the reason why NCCL does not use the best path that this node's hardware has.
void add_why(NcclWay& way, const LadderEnd& end) {
  const nccl::Choices choices = nccl::predict(*end.facts, std::nullopt);
  if (way.network == "Socket") {
    if (!items(end.facts->rdma.devices).empty() && !choices.network_why.empty())
      way.why.push_back(fmt::format("{}: {}", end.node, choices.network_why));
    return;
  }
  if (way.gpudirect != "off" && way.gpudirect != "partly") return;
  for (const nccl::PairChoice& pair : choices.pairs)
    if (pair.gpu == end.gpu && pair.nearest && !pair.gpudirect) {
      way.why.push_back(fmt::format("{}: {}", end.node, pair.why));
      return;
    }
}

class LadderClimb {
 public:
  LadderClimb(OpenPair& pair, const BenchPath& way, double seconds, const Caller& caller)
      : pair_(pair),
        way_(way),
        seconds_(seconds),
        caller_(caller),
        a_(ladder_end(pair.a().node(), way.a.interface, pair.facts_a)),
        b_(ladder_end(pair.b().node(), way.b.interface, pair.facts_b)) {}

  Ladder run() {
    add(RungKind::kTcp, "", [this](Rung& rung) { measure(rung, Engine::kTcp); });
    add(RungKind::kRdmaCm, why_no_rdma(a_, b_), [this](Rung& rung) { measure_cm(rung); });
    add(RungKind::kRdma, why_no_rdma(a_, b_), [this](Rung& rung) { measure(rung, Engine::kRdma); });
    std::string why = why_no_rdma(a_, b_);
    if (why.empty()) why = why_no_gpu(a_, b_);
    add(RungKind::kRdmaGpu, std::move(why), [this](Rung& rung) { measure_gpu(rung); });
    why = &pair_.a() == &pair_.b() ? "both ends are one node" : why_no_gpu(a_, b_);
    add(RungKind::kNccl, std::move(why), [this](Rung& rung) { measure_nccl(rung); });
    return std::move(ladder_);
  }

 private:
  template <class Measure>
  void add(RungKind kind, std::string why_not, Measure measure) {
    Rung rung{.kind = kind, .not_climbed = std::move(why_not)};
    if (rung.not_climbed.empty() && caller_.stop.stop_requested()) rung.not_climbed = "interrupted";
    if (rung.not_climbed.empty()) measure(rung);
    ladder_.rungs.push_back(std::move(rung));
  }

  // Connects by RDMA-CM. Where librdmacm is missing, nothing is known of the fabric.
  void measure_cm(Rung& rung) {
    BenchPlan plan;
    plan.engines = {Engine::kRdmaCm};
    plan.latency_sizes = {kCmBytes};
    plan.seconds = std::min(seconds_, kCmSeconds);
    plan.warmup = 0;
    keep(rung,
         measure_pair(pair_.end_a(way_), pair_.end_b(way_), way_.rail, plan, caller_.progress, caller_.stop));
    if (!rung.measurement || !rung.measurement->failure ||
        rung.measurement->failure->kind != FailureKind::kNoRdmaCm)
      return;
    rung.not_climbed = rung.measurement->failure->cause;
    rung.measurement.reset();
  }

  void measure_gpu(Rung& rung) {
    keep(rung, measure_gpu_memory(pair_.end_a(way_), pair_.end_b(way_), way_.rail,
                                  as_bench_runs(Engine::kRdma, seconds_), caller_.progress, caller_.stop));
  }

  void measure(Rung& rung, Engine engine) {
    keep(rung, measure_pair(pair_.end_a(way_), pair_.end_b(way_), way_.rail, as_bench_runs(engine, seconds_),
                            caller_.progress, caller_.stop));
  }
  static void keep(Rung& rung, std::vector<Measurement> measured) {
    if (measured.empty())
      rung.not_climbed = "interrupted";
    else
      rung.measurement = std::move(measured.front());
  }

  void measure_nccl(Rung& rung) {
    CollectivePlan plan;
    plan.sizes = {kNcclPairBytes};
    plan.graph = false;
    const auto run =
        run_nccl_pair({&pair_.a(), a_.gpu}, {&pair_.b(), b_.gpu}, plan, caller_.progress, caller_.stop);
    if (!run || (run->report.failure && run->report.failure->kind == FailureKind::kNoNccl)) {
      rung.not_climbed = run ? run->report.failure->cause : run.error().text;
      return;
    }
    rung.nccl = nccl_way(run->log, a_, b_);
    rung.measurement = nccl_measurement(run->report, *rung.nccl);
  }

  Measurement nccl_measurement(const CollectiveReport& report, const NcclWay& way) const {
    auto measured = collective_measurements(report);
    Measurement measurement = measured.empty() ? Measurement{} : std::move(measured.back());
    measurement.engine = Engine::kCollective;
    measurement.rail = way_.rail;
    measurement.from = {a_.node, a_.interface, "", "", -1};
    measurement.to = {b_.node, b_.interface, "", "", -1};
    if (report.failure) measurement.failure = report.failure;
    // One GPU per node uses one adapter, so this rail's path is the limit, whatever else the nodes have. The
    // ceiling of the rung of RDMA on GPUs already includes the GPUs' own paths.
    for (const Rung& below : ladder_.rungs)
      if (below.measurement &&
          (below.kind == RungKind::kTcp || (below.kind == RungKind::kRdma && way.network != "Socket")))
        measurement.ceiling = with_gpu_paths(below.measurement->ceiling, a_, b_);
    return measurement;
  }

  OpenPair& pair_;
  const BenchPath& way_;
  double seconds_;
  const Caller& caller_;
  LadderEnd a_;
  LadderEnd b_;
  Ladder ladder_{pair_.a().node(), pair_.b().node(), way_.rail, {}, -1};
};

}  // namespace

LadderEnd ladder_end(std::string node, std::string interface, const Facts& facts) {
  std::string gpu = nearest_gpu(facts, interface);
  return {std::move(node), std::move(interface), &facts, std::move(gpu)};
}

NcclWay nccl_way(const diagnose::Log& log, const LadderEnd& a, const LadderEnd& b) {
  NcclWay way;
  if (!log.networks.empty()) way.network = log.networks.front().name;
  way.gpudirect = log.gpudirect;
  if (!log.communicators.empty())
    for (const diagnose::LogRank& rank : log.communicators.front().ranks) {
      std::vector<std::string>& through = rank.rank == 0 ? way.through_a : way.through_b;
      if (way.network != "Socket") through = rank.nics;
      for (const diagnose::LogInterface& interface : log.interfaces)
        if (interface.data && interface.host == rank.host) through.push_back(interface.name);
    }
  add_why(way, a);
  add_why(way, b);
  if (way.why.empty()) way.why = log.gpudirect_why;
  return way;
}

Ladder measure_ladder(OpenPair& pair, const BenchPath& way, double seconds, const Caller& caller) {
  return LadderClimb(pair, way, seconds, caller).run();
}

std::vector<Measurement> measure_ladders_at_once(OpenPair& pair, const std::vector<Ladder>& ladders,
                                                 double seconds, const Caller& caller) {
  for (const auto& [engine, kind] :
       {std::pair(Engine::kRdma, RungKind::kRdma), {Engine::kTcp, RungKind::kTcp}}) {
    std::vector<RailEnds> rails;
    for (std::size_t i = 0; i < ladders.size(); ++i)
      if (carried(ladders[i], kind))
        rails.push_back({pair.ways[i].rail, pair.end_a(pair.ways[i]), pair.end_b(pair.ways[i])});
    if (rails.size() > 1)
      return measure_rails(rails, as_bench_runs(engine, seconds), caller.progress, caller.stop);
  }
  return {};
}

Ladder judge_ladders(const std::vector<Ladder>& ladders, const OpenPair& pair, const BenchPath& way) {
  Ladder ladder = ladders.front();
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    std::vector<Measurement> repeats;
    for (const Ladder& one : ladders)
      if (one.rungs[i].measurement) repeats.push_back(*one.rungs[i].measurement);
    if (!repeats.empty()) ladder.rungs[i].measurement = merge_repeats(repeats).front();
  }
  judge_ladder(ladder, ladder_end(ladder.a, way.a.interface, pair.facts_a),
               ladder_end(ladder.b, way.b.interface, pair.facts_b));
  return ladder;
}

}  // namespace railbed

#include "campaign/measure/prove.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "bench/pairs/measure.h"
#include "bench/pairs/measure_rails.h"
#include "campaign/look/evidence.h"
#include "campaign/look/survey.h"
#include "campaign/measure/neighbours.h"
#include "campaign/measure/pair_ways.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

// The same for both engines, so that their results compare.
constexpr std::array<std::uint64_t, 3> kProofSizes{4 << 10, 64 << 10, 1 << 20};

BenchPlan plan_for(const Rail& rail, const ProofPlan& proof) {
  BenchPlan plan;
  if (rail.fabric == Fabric::kEthernet) plan.engines = {Engine::kTcp};
  plan.seconds = proof.seconds;
  plan.both_ways = true;
  plan.sizes = {kProofSizes.begin(), kProofSizes.end()};
  return plan;
}

// Returns a plan with the largest message size that each rail was measured with alone.
BenchPlan at_once_plan(Engine engine, const ProofPlan& proof) {
  BenchPlan plan;
  plan.engines = {engine};
  plan.seconds = proof.seconds;
  plan.latency = false;
  plan.both_ways = true;
  plan.sizes = {kProofSizes.back()};
  return plan;
}

constexpr double kPingSeconds = 1;
constexpr std::uint64_t kPingBytes = 56;  // as `ping` sends

BenchPlan ping_plan(const ProofPlan& proof) {
  BenchPlan plan;
  plan.engines = {Engine::kPing};
  plan.latency_sizes = {kPingBytes};
  plan.warmup = 0.1;
  plan.seconds = std::min(proof.seconds, kPingSeconds);
  return plan;
}

class Prover {
 public:
  Prover(const Cluster& cluster, const ProofPlan& plan, ReachOptions reach, const Caller& caller)
      : cluster_(cluster), plan_(plan), caller_(caller), fleet_(open_fleet(cluster, std::move(reach))) {
    options_.paths = asked_paths(cluster);
    options_.asks_site = true;
  }

  void look() { surveyed_ = survey_nodes(fleet_, caller_, options_, cluster_); }

  void measure_cluster(BenchRun& run) {
    for (const Rail& rail : cluster_.rails)
      for (const auto& round : neighbour_rounds(rail)) {
        if (caller_.stop.stop_requested()) return;
        measure_round(round, run, [this](const Pair& pair) { return measure(pair); });
      }
    for (const auto& round : rounds_of_all_rails(cluster_)) {
      if (caller_.stop.stop_requested()) return;
      measure_round(round, run,
                    [&](const PairOfRails& pair) { return measure_at_once(pair, run.measurements); });
    }
    caller_.progress("");
  }

  // Collects the facts of nodes with failed measurements again: a link that broke during a measurement shows
  // only in later facts.
  void look_again(const std::vector<Measurement>& measurements) {
    std::set<std::string> suspects;
    for (const Measurement& measurement : measurements)
      if (measurement.failure && measurement.engine != Engine::kPing)
        suspects.insert({measurement.from.node, measurement.to.node});
    if (suspects.empty() || caller_.stop.stop_requested()) return;
    Surveyed after = survey_nodes(fleet_, caller_, options_, cluster_);
    for (auto& [node, facts] : after.facts)
      if (suspects.contains(node)) surveyed_.facts[node] = std::move(facts);
    for (Unreachable& lost : after.unreachable) {
      if (!suspects.contains(lost.node)) continue;
      surveyed_.facts.erase(lost.node);
      surveyed_.unreachable.push_back(std::move(lost));
    }
  }

  void judge(Proof& proof) {
    const Evidence evidence{.cluster = cluster_,
                            .nodes = surveyed_.facts,
                            .unreachable = surveyed_.unreachable,
                            .measurements = proof.run.measurements,
                            .clocks = surveyed_.clocks,
                            .bmcs = plan_.bmcs,
                            .measured = plan_.measure};
    proof.verdict = verify(evidence);
    proof.differences = find_differences(evidence);
    for (const auto& [node, facts] : surveyed_.facts) add_fingerprint(proof.run, node, facts);
    proof.facts = std::move(surveyed_.facts);
    proof.unreachable = std::move(surveyed_.unreachable);
  }

 private:
  bool gave_facts(const auto& pair) const {
    return surveyed_.facts.contains(pair.from) && surveyed_.facts.contains(pair.to);
  }

  // Measures the pairs of a round at once, since they have no node in common.
  template <class AnyPair, class Measure>
  void measure_round(const std::vector<AnyPair>& round, BenchRun& run, const Measure& measure_one) {
    std::vector<std::vector<Measurement>> results(round.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < round.size(); ++i)
        if (gave_facts(round[i]))
          threads.emplace_back([&round, &results, &measure_one, i] { results[i] = measure_one(round[i]); });
    }
    for (auto& result : results) add_measurements(run, std::move(result));
  }

  // Measures each direction with every engine, then pings: on the rail and, once for each two nodes, over the
  // management network for comparison.
  std::vector<Measurement> measure(const Pair& pair) {
    const PairEnd from = end_on(*pair.rail, fleet_, surveyed_, pair.from);
    const PairEnd to = end_on(*pair.rail, fleet_, surveyed_, pair.to);
    auto all = measure(from, to, pair.rail->name, plan_for(*pair.rail, plan_));
    append(all, measure(from, to, pair.rail->name, ping_plan(plan_)));
    append(all, ping_management(pair, from, to));
    return all;
  }

  std::vector<Measurement> measure(const PairEnd& from, const PairEnd& to, const std::string& rail,
                                   const BenchPlan& plan) {
    return measure_pair(
        from, to, rail, plan,
        [this](std::string_view what) { caller_.progress(fmt::format("measuring: {}", what)); },
        caller_.stop);
  }

  // Measures together the rails that carried data alone, over RDMA if at least two did, else over TCP.
  std::vector<Measurement> measure_at_once(const PairOfRails& pair, const std::vector<Measurement>& alone) {
    for (const Engine engine : {Engine::kRdma, Engine::kTcp}) {
      std::vector<RailEnds> rails;
      for (const Rail* rail : pair.rails)
        if (carried(*rail, pair, engine, alone))
          rails.push_back({rail->name, end_on(*rail, fleet_, surveyed_, pair.from),
                           end_on(*rail, fleet_, surveyed_, pair.to)});
      if (rails.size() > 1)
        return measure_rails(
            rails, at_once_plan(engine, plan_),
            [this](std::string_view what) { caller_.progress(fmt::format("measuring: {}", what)); },
            caller_.stop);
    }
    return {};
  }

  static bool carried(const Rail& rail, const PairOfRails& pair, Engine engine,
                      const std::vector<Measurement>& alone) {
    return std::ranges::any_of(alone, [&](const Measurement& measurement) {
      return measurement.engine == engine && measurement.metric == Metric::kBandwidth &&
             measurement.rail == rail.name && !measurement.failure &&
             measurement.message_bytes == kProofSizes.back() &&
             std::minmax(measurement.from.node, measurement.to.node) == std::minmax(pair.from, pair.to);
    });
  }

  std::vector<Measurement> ping_management(const Pair& pair, PairEnd from, PairEnd to) {
    if (!is_new(pair)) return {};
    const auto way = management_path(cluster_, *from.facts, pair.from, *to.facts, pair.to);
    if (!way) return {};
    std::tie(from.interface, from.address) = std::tie(way->a.interface, way->a.address);
    std::tie(to.interface, to.address) = std::tie(way->b.interface, way->b.address);
    return measure(from, to, way->rail, ping_plan(plan_));
  }

  bool is_new(const Pair& pair) {
    const std::lock_guard lock(mutex_);
    return pinged_.insert(std::minmax(pair.from, pair.to)).second;
  }

  static void append(std::vector<Measurement>& all, std::vector<Measurement> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }

  const Cluster& cluster_;
  const ProofPlan& plan_;
  const Caller& caller_;
  fleet::Fleet fleet_;
  CollectOptions options_;
  Surveyed surveyed_;
  std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> pinged_;  // pairs already pinged over the management network
};

}  // namespace

Result<Proof> prove(const Cluster& cluster, const ProofPlan& plan, const RunRequest& request,
                    ReachOptions reach, const Caller& caller) {
  const auto started = std::chrono::steady_clock::now();
  Proof proof;
  proof.run = begin_run(request);
  Prover prover(cluster, plan, std::move(reach), caller);
  prover.look();
  if (plan.measure) prover.measure_cluster(proof.run);
  prover.look_again(proof.run.measurements);
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted: nothing was written");
  prover.judge(proof);
  proof.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return proof;
}

}  // namespace railbed

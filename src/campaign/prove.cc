#include "campaign/prove.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <thread>

#include "bench/pairs/measure.h"
#include "campaign/evidence.h"
#include "campaign/neighbours.h"
#include "campaign/survey.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

BenchPlan plan_for(const Rail& rail, const ProofPlan& proof) {
  BenchPlan plan;
  if (rail.fabric == Fabric::kEthernet) plan.engines = {Engine::kTcp};
  plan.seconds = proof.seconds;
  plan.sizes = {4 << 10, 64 << 10, 1 << 20};  // the same for both engines, so that they stand side by side
  return plan;
}

class Prover {
 public:
  Prover(const Cluster& cluster, const ProofPlan& plan, ReachOptions reach, const Caller& caller)
      : cluster_(cluster), plan_(plan), caller_(caller), fleet_(open_fleet(cluster, std::move(reach))) {
    options_.paths = asked_paths(cluster);
  }

  void look() { surveyed_ = survey_nodes(fleet_, caller_, options_, cluster_); }

  void measure_rails(BenchRun& run) {
    for (const Rail& rail : cluster_.rails)
      for (const auto& round : neighbour_rounds(rail)) {
        if (caller_.stop.stop_requested()) return;
        measure_round(round, run);
      }
    caller_.progress("");
  }

  // A link that broke while it was measured shows in facts that are taken afterwards, not in those from
  // before.
  void look_again(const std::vector<Measurement>& measurements) {
    std::set<std::string> suspects;
    for (const Measurement& measurement : measurements)
      if (measurement.failure) suspects.insert({measurement.from.node, measurement.to.node});
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
    const Evidence evidence{cluster_, surveyed_.facts, surveyed_.unreachable, proof.run.measurements,
                            surveyed_.clocks};
    proof.verdict = verify(evidence);
    proof.differences = find_differences(evidence);
    for (const auto& [node, facts] : surveyed_.facts) add_fingerprint(proof.run, node, facts);
    proof.facts = std::move(surveyed_.facts);
    proof.unreachable = std::move(surveyed_.unreachable);
  }

 private:
  bool gave_facts(const Pair& pair) const {
    return surveyed_.facts.contains(pair.from) && surveyed_.facts.contains(pair.to);
  }

  // The pairs of a round have no node in common, so they run at once.
  void measure_round(const std::vector<Pair>& round, BenchRun& run) {
    std::vector<std::vector<Measurement>> results(round.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < round.size(); ++i)
        if (gave_facts(round[i]))
          threads.emplace_back([this, &round, &results, i] { results[i] = measure(round[i]); });
    }
    for (auto& result : results) add_measurements(run, std::move(result));
  }

  std::vector<Measurement> measure(const Pair& pair) {
    return measure_pair(
        end_on(*pair.rail, fleet_, surveyed_, pair.from), end_on(*pair.rail, fleet_, surveyed_, pair.to),
        pair.rail->name, plan_for(*pair.rail, plan_),
        [this](std::string_view what) { caller_.progress(fmt::format("measuring: {}", what)); },
        caller_.stop);
  }

  const Cluster& cluster_;
  const ProofPlan& plan_;
  const Caller& caller_;
  fleet::Fleet fleet_;
  CollectOptions options_;
  Surveyed surveyed_;
};

}  // namespace

Result<Proof> prove(const Cluster& cluster, const ProofPlan& plan, const RunRequest& request,
                    ReachOptions reach, const Caller& caller) {
  const auto started = std::chrono::steady_clock::now();
  Proof proof;
  proof.run = begin_run(request);
  Prover prover(cluster, plan, std::move(reach), caller);
  prover.look();
  if (plan.measure) prover.measure_rails(proof.run);
  prover.look_again(proof.run.measurements);
  if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted: nothing was written");
  prover.judge(proof);
  proof.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return proof;
}

}  // namespace railbed

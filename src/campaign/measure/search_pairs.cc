#include "campaign/measure/search_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/wording.h"
#include "bench/pairs/measure.h"
#include "bench/pairs/slow.h"
#include "campaign/look/survey.h"
#include "inventory/load.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

Engine engine_for(const Rail& rail, const PairSearch& search) {
  return search.engine.value_or(rail.fabric == Fabric::kEthernet ? Engine::kTcp : Engine::kRdma);
}

BenchPlan plan_of(const PairSearch& search, Engine engine) {
  BenchPlan plan;
  plan.engines = {engine};
  plan.latency = false;
  plan.both_ways = true;
  plan.seconds = search.seconds;
  plan.warmup = std::min(0.5, search.seconds / 4);
  plan.streams = search.streams;
  plan.sizes = {search.bytes};
  return plan;
}

std::optional<double> value_of(const Measurement& measurement) {
  if (measurement.failure || measurement.summary.samples == 0) return std::nullopt;
  return measurement.summary.median;
}

// Measures rounds of one rail. Stores every measurement, and the reason if a pair has no number.
class RailMeasurer {
 public:
  RailMeasurer(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, BenchPlan plan,
               const Caller& caller, RailReport& report, BenchRun& run)
      : rail_(rail),
        fleet_(fleet),
        surveyed_(surveyed),
        plan_(std::move(plan)),
        caller_(caller),
        report_(report),
        run_(run) {}

  std::vector<PairResult> operator()(const Round& round) {
    std::vector<PairResult> results(round.size());
    if (caller_.stop.stop_requested()) return results;
    caller_.progress(fmt::format("{}: {} at once", rail_.name, counted(round.size(), "pair")));
    const char* company = round.size() == 1 ? "alone" : "together";
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < round.size(); ++i)
      threads.emplace_back([&, i] { results[i] = measure(round[i], company); });
    threads.clear();
    return results;
  }

 private:
  PairResult measure(const NodePair& pair, const char* company) {
    const std::string& a = report_.nodes[static_cast<std::size_t>(pair.a)];
    const std::string& b = report_.nodes[static_cast<std::size_t>(pair.b)];
    const auto measured = measure_pair(
        end_on(rail_, fleet_, surveyed_, a), end_on(rail_, fleet_, surveyed_, b), rail_.name, plan_,
        [](std::string_view) {}, caller_.stop);
    PairResult result;
    for (const Measurement& measurement : measured) {
      (measurement.from.node == a ? result.there : result.back) = value_of(measurement);
      keep(measurement, company);
    }
    return result;
  }

  void keep(Measurement measurement, const char* company) {
    measurement.operation += fmt::format("{}{}", measurement.operation.empty() ? "" : ", ", company);
    measurement.intervals.clear();  // too large to keep for thousands of pairs
    const std::lock_guard lock(mutex_);
    if (measurement.failure) note_failure(measurement);
    run_.measurements.push_back(std::move(measurement));
  }

  // Notes the failure; a common root cause is noted once for both directions.
  void note_failure(const Measurement& measurement) {
    std::string line =
        fmt::format("{} → {}: {}", measurement.from.node, measurement.to.node, measurement.failure->cause);
    if (const FailureRoot* root = root_of(measurement)) {
      const auto [first, second] = std::minmax(measurement.from.node, measurement.to.node);
      line = fmt::format("{} – {}: {}", first, second, root->cause);
      if (std::ranges::find(report_.failures, line) != report_.failures.end()) return;
    }
    report_.failures.push_back(std::move(line));
  }

  const Rail& rail_;
  fleet::Fleet& fleet_;
  const Surveyed& surveyed_;
  BenchPlan plan_;
  const Caller& caller_;
  RailReport& report_;
  BenchRun& run_;
  std::mutex mutex_;  // guards the report's failures and the run's measurements
};

RailReport search_rail(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed,
                       const PairSearch& search, const Caller& caller, BenchRun& run) {
  RailReport report;
  report.rail = rail.name;
  report.engine = engine_for(rail, search);
  for (const RailPort& port : rail.ports)
    if (surveyed.facts.contains(port.node)) report.nodes.push_back(port.node);
  RailMeasurer measurer(rail, fleet, surveyed, plan_of(search, report.engine), caller, report, run);
  report.report =
      find_slow(static_cast<int>(report.nodes.size()), [&](const Round& round) { return measurer(round); },
                {search.every_pair, search.tolerance});
  caller.progress("");
  return report;
}

}  // namespace

Result<PairsFound> search_pairs(const Cluster& cluster, const PairSearch& search, const RunRequest& request,
                                ReachOptions reach, const Caller& caller) {
  if (!search.rail.empty() && find_rail(cluster, search.rail) == nullptr)
    return fail(no_such_rail(cluster, search.rail));
  fleet::Fleet fleet = open_fleet(cluster, std::move(reach));
  Surveyed surveyed = survey_nodes(fleet, caller);
  PairsFound found{begin_run(request), {}};
  for (const Rail& rail : cluster.rails) {
    if (!search.rail.empty() && rail.name != search.rail) continue;
    found.run.pairs.push_back(search_rail(rail, fleet, surveyed, search, caller, found.run));
    if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted");
  }
  for (const auto& [node, facts] : surveyed.facts) add_fingerprint(found.run, node, facts);
  found.unreachable = std::move(surveyed.unreachable);
  return found;
}

}  // namespace railbed

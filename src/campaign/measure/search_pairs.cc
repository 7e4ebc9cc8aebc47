#include "campaign/measure/search_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/wording.h"
#include "bench/collective/measure_collective.h"
#include "bench/pairs/ladder.h"
#include "bench/pairs/measure.h"
#include "bench/pairs/slow.h"
#include "campaign/look/survey.h"
#include "campaign/measure/gpu_pair.h"
#include "campaign/measure/measure_ladder.h"
#include "facts/facts.h"
#include "hardware/collective_ceiling.h"
#include "inventory/load.h"
#include "store/fingerprint.h"

namespace railbed {
namespace {

constexpr std::uint64_t kUsualMessage = 1 << 20;

Engine engine_for(const Rail& rail, const PairSearch& search) {
  if (search.gpu_memory) return Engine::kRdma;
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
  plan.sizes = {search.bytes > 0 ? search.bytes : kUsualMessage};
  return plan;
}

// Makes rank `root` send and the other receive, so that the directions are told apart as by the other engines.
CollectivePlan nccl_plan_of(const PairSearch& search, int root) {
  CollectivePlan plan;
  plan.operation = Collective::kBroadcast;
  plan.root = root;
  plan.sizes = {search.bytes > 0 ? search.bytes : kNcclPairBytes};
  plan.graph = false;
  return plan;
}

std::optional<double> value_of(const Measurement& measurement) {
  if (measurement.failure || measurement.summary.samples == 0) return std::nullopt;
  return measurement.summary.median;
}

// Measures rounds of one rail. Stores every measurement, and the reason if a pair has no number.
class RailMeasurer {
 public:
  RailMeasurer(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed, const PairSearch& search,
               const Caller& caller, RailReport& report, BenchRun& run)
      : rail_(rail),
        fleet_(fleet),
        surveyed_(surveyed),
        search_(search),
        plan_(plan_of(search, report.engine)),
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
    const PairEnd end_a = end_on(rail_, fleet_, surveyed_, a);
    const PairEnd end_b = end_on(rail_, fleet_, surveyed_, b);
    PairResult result;
    for (const Measurement& measurement : measure_between(end_a, end_b)) {
      (measurement.from.node == a ? result.there : result.back) = value_of(measurement);
      (measurement.from.node == a ? result.other_there : result.other_back) =
          traffic_on_the_way(measurement).bits_per_second;
      keep(measurement, company);
    }
    return result;
  }

  std::vector<Measurement> measure_between(const PairEnd& a, const PairEnd& b) {
    const OnMeasuring quiet = [](std::string_view) {};
    if (report_.engine == Engine::kCollective) return measure_nccl(a, b, quiet);
    if (!report_.gpu_memory) return measure_pair(a, b, rail_.name, plan_, quiet, caller_.stop);
    auto measured = measure_gpu_memory(a, b, rail_.name, plan_, quiet, caller_.stop);
    for (const Measurement& measurement : measured)
      for (const Endpoint* end : {&measurement.from, &measurement.to})
        if (!end->memory_why.empty())
          note(fmt::format("{}: {}: {}", end->node, end->memory, end->memory_why));
    return measured;
  }

  std::vector<Measurement> measure_nccl(const PairEnd& a, const PairEnd& b, const OnMeasuring& quiet) {
    std::vector<Measurement> measured;
    const LadderEnd from_facts[] = {ladder_end(a.peer->node(), a.interface, *a.facts),
                                    ladder_end(b.peer->node(), b.interface, *b.facts)};
    const std::string no_gpu = why_no_gpu(from_facts[0], from_facts[1]);
    for (const int root : {0, 1}) {
      Measurement measurement;
      if (no_gpu.empty())
        measurement = broadcast({a.peer, from_facts[0].gpu, network_of(a)},
                                {b.peer, from_facts[1].gpu, network_of(b)}, root, from_facts, quiet);
      else
        measurement.failure = Failure{"start", no_gpu, ""};
      measurement.engine = Engine::kCollective;
      measurement.rail = rail_.name;
      measurement.from = endpoint_of(root == 0 ? a : b);
      measurement.to = endpoint_of(root == 0 ? b : a);
      measured.push_back(std::move(measurement));
      if (measured.back().failure) break;  // the other direction would fail in the same way
    }
    return measured;
  }

  Measurement broadcast(const NcclEnd& a, const NcclEnd& b, int root, const LadderEnd (&ends)[2],
                        const OnMeasuring& quiet) {
    Measurement measurement;
    const auto ran = run_nccl_pair(a, b, nccl_plan_of(search_, root), quiet, caller_.stop);
    if (!ran) {
      measurement.failure = Failure{"start", ran.error().text, ""};
      return measurement;
    }
    CollectiveReport report = ran->report;
    report.ceiling = collective_ceiling(report, surveyed_.facts);
    auto measured = collective_measurements(report);
    if (!measured.empty()) measurement = std::move(measured.back());
    if (report.failure) measurement.failure = report.failure;
    if (!measurement.failure) note_way(nccl_way(ran->log, ends[0], ends[1]), why_no_rdma(ends[0], ends[1]));
    return measurement;
  }

  // Returns what holds NCCL to the rail: of an Ethernet rail its interface, else the adapter. Without an RDMA device behind the
  // interface NCCL chooses, and a note reports that.
  NcclNetwork network_of(const PairEnd& end) const {
    if (rail_.fabric == Fabric::kEthernet) return {"", end.interface};
    const RdmaPortRef port = rdma_port_of(end.facts->rdma, end.facts->net, end.interface);
    if (!port) return {};
    return {fmt::format("{}:{}", port.device->name, port.port->number), ""};
  }

  void note_way(const NcclWay& way, const std::string& no_rdma) {
    const bool lost_rdma = way.network == "Socket" && rail_.fabric != Fabric::kEthernet;
    const bool staged = way.network != "Socket" && (way.gpudirect == "off" || way.gpudirect == "partly");
    if (!lost_rdma && !staged) return;
    const char* what = lost_rdma ? "NCCL uses TCP instead of RDMA" : "NCCL copies through host memory";
    if (way.why.empty())
      note(lost_rdma && !no_rdma.empty() ? fmt::format("{}: {}", what, no_rdma) : std::string(what));
    for (const std::string& why : way.why) note(fmt::format("{}: {}", what, why));
  }
  void note(std::string text) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(report_.notes, text) == report_.notes.end())
      report_.notes.push_back(std::move(text));
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
  const PairSearch& search_;
  BenchPlan plan_;
  const Caller& caller_;
  RailReport& report_;
  BenchRun& run_;
  std::mutex mutex_;  // guards the report's failures and notes, and the run's measurements
};

// Fails if GPUs are to be measured and fewer than two nodes of the rail have one.
Result<void> check_gpus(const Rail& rail, const PairSearch& search, const Surveyed& surveyed) {
  if (!search.gpu_memory && search.engine != Engine::kCollective) return {};
  std::vector<std::string> reasons;
  std::size_t with_gpu = 0;
  for (const RailPort& port : rail.ports) {
    const auto known = surveyed.facts.find(port.node);
    if (known == surveyed.facts.end()) {
      const auto lost = std::ranges::find(surveyed.unreachable, port.node, &Unreachable::node);
      if (lost != surveyed.unreachable.end()) reasons.push_back(lost->error.text);
      continue;
    }
    const LadderEnd end = ladder_end(port.node, port.interface, known->second);
    std::string why = why_no_gpu(end, end);
    if (why.empty())
      ++with_gpu;
    else
      reasons.push_back(std::move(why));
  }
  if (with_gpu >= 2) return {};
  constexpr std::size_t kMostReasons = 3;
  if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
  return fail(ErrorKind::kUnavailable, fmt::format("{}: GPUs of two nodes are needed{}{}", rail.name,
                                                   reasons.empty() ? "" : "; ", fmt::join(reasons, ", ")));
}

RailReport search_rail(const Rail& rail, fleet::Fleet& fleet, const Surveyed& surveyed,
                       const PairSearch& search, const Caller& caller, BenchRun& run) {
  RailReport report;
  report.rail = rail.name;
  report.engine = engine_for(rail, search);
  report.gpu_memory = search.gpu_memory;
  for (const RailPort& port : rail.ports)
    if (surveyed.facts.contains(port.node)) report.nodes.push_back(port.node);
  RailMeasurer measurer(rail, fleet, surveyed, search, caller, report, run);
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
    RETURN_IF_ERROR(check_gpus(rail, search, surveyed));
    found.run.pairs.push_back(search_rail(rail, fleet, surveyed, search, caller, found.run));
    if (caller.stop.stop_requested()) return fail(ErrorKind::kCancelled, "interrupted");
  }
  for (const auto& [node, facts] : surveyed.facts) add_fingerprint(found.run, node, facts);
  found.unreachable = std::move(surveyed.unreachable);
  return found;
}

}  // namespace railbed

#include "bench/train/measure_train.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/median.h"
#include "base/random.h"
#include "bench/core/ask_all.h"
#include "bench/core/ceiling_end.h"
#include "bench/core/link.h"
#include "bench/core/typed.h"
#include "bench/statistics/statistics.h"
#include "bench/tcp/protocol.h"
#include "bench/verbs/measure_rdma.h"
#include "facts/facts.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kTrainSetUpDeadline{5000};
// Slow networks need long for whole models: one exchange of 7B over 1 Gb/s takes minutes.
constexpr std::chrono::minutes kForRounds{30};

double slowest(const Answers<TrainRan>& answers, std::vector<double> TrainRan::*times, std::size_t round) {
  double most = 0;
  for (const auto& rank : answers.ends) most = std::max(most, ((*rank).*times)[round]);
  return most;
}

std::size_t rounds_of(const Answers<TrainRan>& answers) {
  std::size_t rounds = SIZE_MAX;
  for (const auto& rank : answers.ends)
    rounds = std::min({rounds, rank->step.size(), rank->exchange.size(), rank->compute.size()});
  return rounds;
}

// These two functions open the links between the ranks and enter them in `runs`. They return a failure, or
// nothing.
std::optional<Failure> link_by_tcp(const std::vector<PairEnd>& ends, std::vector<TrainRun>& runs,
                                   const std::stop_token& stop) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const PairEnd& end = ends[i];
    const std::size_t before = (i + ends.size() - 1) % ends.size();
    const auto door =
        ask<TcpListening>(*end.peer, kTrainListen, TcpListen{*end.address}, kTrainSetUpDeadline, stop);
    if (!door) return Failure{"connect", at_node(end.peer->node(), door.error()).text, ""};
    runs[i].session = door->session;
    runs[i].previous = ends[before].peer->node();
    runs[before].next = {*ends[before].address, *end.address, door->port, door->token, end.peer->node()};
  }
  return std::nullopt;
}

// Link i is from rank i to the next. `links` must live until every rank has replied: its destructor closes
// them.
std::optional<Failure> link_by_rdma(const std::vector<PairEnd>& ends, std::vector<TrainRun>& runs,
                                    std::vector<std::unique_ptr<RdmaPair>>& links,
                                    const std::stop_token& stop) {
  BenchPlan plan;
  plan.streams = 1;
  plan.sizes = {ring_run("").message_bytes};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t next = (i + 1) % ends.size();
    RdmaPair& link = *links.emplace_back(std::make_unique<RdmaPair>(ends[i], ends[next], plan, false, stop));
    if (link.failure()) return link.failure();
    if (auto failure = link.prepare(ring_run(""), stop)) return failure;
    runs[i].session = link.session_of_a();
    runs[next].incoming = link.session_of_b();
  }
  return std::nullopt;
}

std::vector<PairEnd> one_of_each_node(const std::vector<PairEnd>& ends) {
  std::vector<PairEnd> some;
  for (const PairEnd& end : ends)
    if (some.empty() || some.back().peer != end.peer) some.push_back(end);
  return some;
}

int mtu_of(const PairEnd& end) {
  const NetInterface* found = end.facts == nullptr ? nullptr : find_interface(end.facts->net, end.interface);
  return found != nullptr ? found->mtu.value_or(1500) : 1500;
}

// Returns the lowest of the ceilings from each node to the next. `links` are those of RDMA; empty for TCP.
Ceiling ring_ceiling(const std::vector<PairEnd>& ends, const std::vector<std::unique_ptr<RdmaPair>>& links) {
  Ceiling lowest;
  bool has_wire = false;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const PairEnd& a = ends[i];
    const PairEnd& b = ends[(i + 1) % ends.size()];
    if (a.peer->node() == b.peer->node()) continue;
    has_wire = true;
    if (a.facts == nullptr || b.facts == nullptr) continue;
    const Wire wire = !links.empty()       ? links[i]->wire()
                      : a.address->is_v4() ? Wire::kTcpIpv4
                                           : Wire::kTcpIpv6;
    const Ceiling ceiling =
        path_ceiling(ceiling_end(a), ceiling_end(b), wire, links.empty() ? mtu_of(a) : links[i]->mtu());
    if (lowest.limits.empty() ||
        (!ceiling.limits.empty() && ceiling.limits.front().rate < lowest.limits.front().rate))
      lowest = ceiling;
  }
  if (has_wire) return lowest;
  lowest.nominal = true;
  lowest.note = "all ranks are one machine: no wire, memory and processor bind";
  return lowest;
}

}  // namespace

std::optional<Failure> train_cause(const std::vector<std::string>& nodes, const Answers<TrainRan>& answers) {
  std::vector<EndSaid> said;
  for (std::size_t i = 0; i < nodes.size(); ++i) said.push_back(end_said(nodes[i], answers.ends[i]));
  std::vector<std::size_t> believed = answers.order;
  std::stable_partition(believed.begin(), believed.end(), [&](std::size_t i) {
    return said[i].failure == nullptr || said[i].kind != FailureKind::kClosed;
  });
  return cause_of(said, believed);
}

TrainResult measure_train(const std::vector<PairEnd>& ends, Engine transport, const Step& step,
                          int word_bytes, double seconds, std::stop_token stop) {
  TrainResult result;
  TrainRun common;
  common.ranks = static_cast<int>(ends.size());
  common.step = step;
  common.word_bytes = word_bytes;
  common.seconds = seconds;
  common.seed = random_seed();
  std::vector<TrainRun> runs(ends.size(), common);
  for (std::size_t i = 0; i < ends.size(); ++i) runs[i].rank = static_cast<int>(i);
  std::vector<std::unique_ptr<RdmaPair>> links;  // must live until every rank has replied
  result.failure =
      transport == Engine::kRdma ? link_by_rdma(ends, runs, links, stop) : link_by_tcp(ends, runs, stop);
  if (result.failure) return result;
  result.ceiling = ring_ceiling(ends, links);
  const auto deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)) + kForRounds;
  std::vector<std::string> nodes;
  std::vector<Peer*> peers;
  for (const PairEnd& end : ends) {
    nodes.push_back(end.peer->node());
    peers.push_back(end.peer);
  }
  const auto answers =
      ask_all<TrainRan>(peers, transport == Engine::kRdma ? kTrainRunRdma : kTrainRun, runs, deadline, stop);
  result.failure = train_cause(nodes, answers);
  if (result.failure) blame_links(one_of_each_node(ends), *result.failure, stop);
  if (std::any_of(answers.ends.begin(), answers.ends.end(), [](const auto& rank) { return !rank; }))
    return result;
  for (const auto& rank : answers.ends) {
    result.checked_bytes += rank->checked_bytes;
    result.wrong_bytes += rank->wrong_bytes;
  }
  for (std::size_t round = 0; round < rounds_of(answers); ++round) {
    result.step.push_back(slowest(answers, &TrainRan::step, round));
    result.exchange.push_back(slowest(answers, &TrainRan::exchange, round));
    result.compute.push_back(slowest(answers, &TrainRan::compute, round));
  }
  return result;
}

TrainReport report_of(const Model& model, const StepPlan& plan, const Step& step, int ranks,
                      const TrainResult& result) {
  TrainReport report;
  report.model = model.name;
  report.sample = model.sample;
  report.parameters = model.parameters();
  report.gradient_bytes = step.bytes();
  report.buckets = step.buckets.size();
  report.batch = plan.batch;
  report.tokens = model.tokens;
  report.word_bytes = static_cast<int>(plan.word_bytes);
  report.flops_per_second = plan.flops_per_second;
  report.checked_bytes = result.checked_bytes;
  report.wrong_bytes = result.wrong_bytes;
  report.failure = result.failure;
  report.ceiling = result.ceiling;
  report.hiding_rate = hiding_rate(step, ranks, kHiddenShare);
  report.rounds = result.step.size();
  if (result.step.empty()) return report;
  report.step = summarize(result.step);
  report.exchange = summarize(result.exchange);
  report.compute = summarize(result.compute);
  // Computed for each round by itself, so that a drift from round to round cancels out.
  std::vector<double> exposed;
  std::vector<double> efficiency;
  for (std::size_t i = 0; i < result.step.size(); ++i) {
    exposed.push_back(std::max(0.0, result.step[i] - result.compute[i]));
    efficiency.push_back(result.compute[i] / result.step[i]);
  }
  report.exposed = median_of(exposed);
  report.efficiency = median_of(efficiency);
  report.overlap = std::clamp(1 - report.exposed / report.exchange.median, 0.0, 1.0);
  report.samples_per_second = static_cast<double>(plan.batch) * ranks / report.step.median;
  report.tokens_per_second = report.samples_per_second * static_cast<double>(model.tokens);
  report.exchange_rate = {static_cast<double>(step.bytes()) * 8 * ring_factor(ranks) /
                          report.exchange.median};
  report.predicted_exposed = exposed_seconds(step, ranks, report.exchange_rate);
  return report;
}

std::vector<Measurement> train_measurements(const TrainReport& report) {
  Measurement measurement;
  measurement.engine = Engine::kTrain;
  measurement.metric = Metric::kLatency;
  measurement.operation =
      report.on_gpus
          ? fmt::format("{} batch {}, {}", report.model, report.batch, report.compute_kind)
          : fmt::format("{} batch {} at {:.3g} FLOP/s", report.model, report.batch, report.flops_per_second);
  measurement.rail = report.transport;
  for (const std::string& node : report.nodes)
    if (measurement.from.node.empty() || !measurement.from.node.ends_with(node))
      measurement.from.node += (measurement.from.node.empty() ? "" : ",") + node;
  measurement.message_bytes = report.gradient_bytes;
  measurement.streams = static_cast<int>(report.nodes.size());
  measurement.checked_bytes = report.checked_bytes;
  measurement.wrong_bytes = report.wrong_bytes;
  measurement.failure = report.failure;
  measurement.seconds =
      (report.step.mean + report.exchange.mean + report.compute.mean) * static_cast<double>(report.rounds);
  measurement.summary = report.step;
  for (double* value : {&measurement.summary.median, &measurement.summary.low, &measurement.summary.high,
                        &measurement.summary.mean, &measurement.summary.minimum, &measurement.summary.maximum,
                        &measurement.summary.deviation})
    *value *= 1e9;
  Measurement exchange = measurement;
  exchange.metric = Metric::kBandwidth;
  exchange.operation = report.model + " all-reduce";
  exchange.ceiling = report.ceiling;
  exchange.summary = {};
  if (report.rounds > 0) {
    exchange.summary.samples = report.rounds;
    exchange.summary.median = exchange.summary.mean = report.exchange_rate.bits_per_second;
    const double scale = report.exchange_rate.bits_per_second * report.exchange.median;
    exchange.summary.low = scale / report.exchange.high;
    exchange.summary.high = scale / report.exchange.low;
    exchange.summary.minimum = scale / report.exchange.maximum;
    exchange.summary.maximum = scale / report.exchange.minimum;
  }
  return {std::move(measurement), std::move(exchange)};
}

}  // namespace railbed

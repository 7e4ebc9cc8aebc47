#include "bench/measure.h"

#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "bench/measure_rdma.h"
#include "bench/measure_tcp.h"
#include "bench/protocol.h"
#include "bench/typed.h"
#include "facts/facts.h"
#include "hardware/ceilings.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kLinkDeadline{3000};

Endpoint endpoint(const PairEnd& end) {
  return {end.peer->node(), end.interface, "", end.address ? end.address->to_text() : "", -1};
}

class PairRun {
 public:
  PairRun(std::string_view rail, const BenchPlan& plan, const OnMeasuring& on_measuring, std::stop_token stop)
      : rail_(rail), plan_(plan), on_measuring_(on_measuring), stop_(std::move(stop)) {}

  void run(Engine engine, const PairEnd& a, const PairEnd& b) {
    a_ = &a;
    b_ = &b;
    if (plan_.bandwidth) run_sizes(engine, a, b);
    if (plan_.bandwidth && plan_.both_ways) run_sizes(engine, b, a);
    if (plan_.latency && !stop_.stop_requested())
      run_one(engine, Metric::kLatency, a, b, plan_.latency_bytes, 1);
  }
  std::vector<Measurement> take() { return std::move(measurements_); }

 private:
  void run_sizes(Engine engine, const PairEnd& from, const PairEnd& to) {
    const int streams = plan_.streams > 0 ? plan_.streams : default_streams(engine);
    for (const std::uint64_t size : plan_.sizes.empty() ? default_sizes(engine) : plan_.sizes)
      if (stop_.stop_requested() || !run_one(engine, Metric::kBandwidth, from, to, size, streams)) return;
  }

  // False when it failed.
  bool run_one(Engine engine, Metric metric, const PairEnd& from, const PairEnd& to, std::uint64_t size,
               int streams) {
    Measurement measurement;
    measurement.engine = engine;
    measurement.metric = metric;
    measurement.rail = rail_;
    measurement.from = endpoint(from);
    measurement.to = endpoint(to);
    measurement.message_bytes = size;
    measurement.streams = streams;
    if (on_measuring_)
      on_measuring_(fmt::format("{} {} {} → {}, {}", enum_names(engine)[static_cast<std::size_t>(engine)],
                                enum_names(metric)[static_cast<std::size_t>(metric)], from.peer->node(),
                                to.peer->node(), to_text(ByteCount{size})));
    const Wire wire = engine == Engine::kTcp ? measure_tcp(metric, from, to, measurement)
                                             : measure_rdma(metric, from, measurement);
    if (metric == Metric::kBandwidth && measurement.mtu > 0)
      measurement.ceiling =
          path_ceiling({from.peer->node(), from.interface, from.facts},
                       {to.peer->node(), to.interface, to.facts}, wire, measurement.mtu, size);
    if (measurement.failure) explain(from, to, *measurement.failure);
    measurements_.push_back(std::move(measurement));
    return !measurements_.back().failure;
  }

  // A port that is down, or lost its address, is the cause of whatever the engines saw.
  void explain(const PairEnd& from, const PairEnd& to, Failure& failure) {
    if (stop_.stop_requested() || failure.stage == "verify") return;
    for (const PairEnd* end : {&from, &to}) {
      const auto link =
          ask<LinkState>(*end->peer, kLink, LinkQuestion{end->interface, end->address}, kLinkDeadline, stop_);
      if (!link || link->trouble.empty()) continue;
      failure.cause = fmt::format("{}: {}; {}", end->peer->node(), link->trouble, failure.cause);
      failure.remedy = fmt::format("on {}: {}", end->peer->node(), link->remedy);
      return;
    }
  }

  // A pair that failed is opened anew for what comes next.
  Wire measure_rdma(Metric metric, const PairEnd& from, Measurement& measurement) {
    if (rdma_ && rdma_->failure()) rdma_.reset();
    if (!rdma_) rdma_ = std::make_unique<RdmaPair>(*a_, *b_, plan_, stop_);
    if (metric == Metric::kBandwidth)
      rdma_->measure_bandwidth(&from == a_, plan_, measurement, stop_);
    else
      rdma_->measure_latency(&from == a_, plan_, measurement, stop_);
    return rdma_->wire();
  }

  Wire measure_tcp(Metric metric, const PairEnd& from, const PairEnd& to, Measurement& measurement) {
    for (const PairEnd* end : {&from, &to})
      if (!end->address || end->address->is_link_local()) {
        measurement.failure = Failure{
            "connect",
            fmt::format("{} of {} has no IP address that TCP could use", end->interface, end->peer->node()),
            "give the rail's interface an address (on InfiniBand: set up IPoIB)"};
        return Wire::kTcpIpv4;
      }
    const auto run = metric == Metric::kBandwidth ? measure_tcp_bandwidth : measure_tcp_latency;
    run(from, to, plan_, measurement, stop_);
    return from.address->is_v4() ? Wire::kTcpIpv4 : Wire::kTcpIpv6;
  }

  std::string rail_;
  const BenchPlan& plan_;
  const OnMeasuring& on_measuring_;
  std::stop_token stop_;
  const PairEnd* a_ = nullptr;
  const PairEnd* b_ = nullptr;
  std::unique_ptr<RdmaPair> rdma_;
  std::vector<Measurement> measurements_;
};

}  // namespace

std::vector<std::uint64_t> default_sizes(Engine engine) {
  if (engine == Engine::kTcp) return {256 << 10};
  return {4 << 10, 64 << 10, 1 << 20};
}

int default_streams(Engine engine) { return engine == Engine::kTcp ? 4 : 2; }

std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop) {
  PairRun run(rail, plan, on_measuring, stop);
  for (const Engine engine : plan.engines)
    if (!stop.stop_requested()) run.run(engine, a, b);
  return run.take();
}

}  // namespace railbed

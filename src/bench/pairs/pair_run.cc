#include "bench/pairs/pair_run.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "bench/core/other_traffic.h"
#include "bench/core/other_work.h"
#include "facts/facts.h"

namespace railbed {
namespace {

bool has_no_rdma_device(const PairEnd& end) {
  if (end.facts == nullptr) return false;
  const auto& devices = end.facts->rdma.devices;
  return devices.absent() || (devices.ok() && devices->empty());
}

}  // namespace

PairRun::PairRun(Engine engine, const PairMeasuring& measuring, const PairEnd& a, const PairEnd& b,
                 std::string_view rail, const BenchPlan& plan, PathExplainer& explainer,
                 const OnMeasuring& on_measuring, const std::stop_token& stop)
    : engine_(engine),
      measuring_(measuring),
      a_(a),
      b_(b),
      rail_(rail),
      plan_(plan),
      explainer_(explainer),
      on_measuring_(on_measuring),
      stop_(stop),
      work_(measuring.open(a, b, plan, stop)) {}

std::vector<Measurement> PairRun::run() {
  for (int operation = 0; operation < work_->operations(); ++operation) run_operation(operation);
  return std::move(measurements_);
}

void PairRun::run_operation(int operation) {
  const auto sizes = plan_.sizes.empty() ? work_->sizes(operation, measuring_.sizes) : plan_.sizes;
  if (plan_.bandwidth && work_->can_measure(operation, Metric::kBandwidth)) {
    run_sizes({operation, Metric::kBandwidth, true, 0, streams()}, sizes);
    if (plan_.both_ways) run_sizes({operation, Metric::kBandwidth, false, 0, streams()}, sizes);
  }
  if (plan_.latency && work_->can_measure(operation, Metric::kLatency))
    run_sizes({operation, Metric::kLatency, true, 0, 1}, plan_.latency_sizes);
}

// Measures the sizes in turn until one fails, one is too large for the engine, or a stop is requested.
void PairRun::run_sizes(PairNumber number, const std::vector<std::uint64_t>& sizes) {
  for (const std::uint64_t size : sizes) {
    if (size > work_->largest_message(number.operation)) return;
    if (stop_.stop_requested()) return;
    number.message_bytes = size;
    measurements_.push_back(watch(number));
    if (measurements_.back().failure) return;
  }
}

Measurement PairRun::watch(const PairNumber& number) {
  const PairEnd& from = number.from_a ? a_ : b_;
  const PairEnd& to = number.from_a ? b_ : a_;
  if (on_measuring_)
    on_measuring_(fmt::format("{} {} {} → {}, {}", engine_.id(),
                              enum_names(number.metric)[static_cast<std::size_t>(number.metric)],
                              from.peer->node(), to.peer->node(), to_text(ByteCount{number.message_bytes})));
  WorkWatch work(from, to, stop_);
  Measurement measurement = measure(number);
  if (!measurement.failure) work.end(measurement);
  return measurement;
}

Measurement PairRun::measure(const PairNumber& number) {
  Measurement measurement;
  measurement.engine = engine_;
  measurement.metric = number.metric;
  measurement.operation = work_->operation_text(number.operation, number.metric);
  measurement.rail = rail_;
  measurement.from = endpoint_of(number.from_a ? a_ : b_);
  measurement.to = endpoint_of(number.from_a ? b_ : a_);
  measurement.message_bytes = number.message_bytes;
  measurement.streams = number.streams;
  const TrafficWatch traffic(number.from_a ? a_ : b_, number.from_a ? b_ : a_, stop_);
  work_->measure(number.operation, number.from_a, measurement);
  if (const auto own = work_->own_traffic(); own && !measurement.failure) traffic.end(measurement, *own);
  if (number.metric == Metric::kBandwidth && measurement.mtu > 0)
    measurement.ceiling = work_->ceiling(number.from_a, measurement);
  if (number.metric == Metric::kLatency && measurement.mtu > 0)
    measurement.floor = work_->floor(number.from_a, measurement);
  if (measurement.failure) explainer_.explain(engine_, *measurement.failure, stop_);
  const bool of_rdma = engine_ == Engine::kRdma || engine_ == Engine::kRdmaCm;
  if (measurement.failure && measurement.failure->kind == FailureKind::kOther && of_rdma &&
      has_no_rdma_device(a_) && has_no_rdma_device(b_))
    measurement.failure->kind = FailureKind::kNoRdmaDevice;
  return measurement;
}

}  // namespace railbed

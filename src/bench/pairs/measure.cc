#include "bench/pairs/measure.h"

#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "bench/core/other_work.h"
#include "bench/engines/engines.h"
#include "bench/path/explain.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLargestOfAll = 4 << 20;

Endpoint endpoint(const PairEnd& end) {
  return {end.peer->node(), end.interface, "", end.address ? end.address->to_text() : "", -1};
}

// One engine over one pair: each operation's bandwidths and latencies in turn.
class PairRun {
 public:
  PairRun(Engine engine, const PairMeasuring& measuring, const PairEnd& a, const PairEnd& b,
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

  std::vector<Measurement> run() {
    for (int operation = 0; operation < work_->operations(); ++operation) run_operation(operation);
    return std::move(measurements_);
  }

 private:
  void run_operation(int operation) {
    const int streams = plan_.streams > 0 ? plan_.streams : measuring_.streams;
    const auto sizes = plan_.sizes.empty() ? work_->sizes(operation, measuring_.sizes) : plan_.sizes;
    if (plan_.bandwidth && work_->can_measure(operation, Metric::kBandwidth)) {
      run_sizes(operation, Metric::kBandwidth, true, sizes, streams);
      if (plan_.both_ways) run_sizes(operation, Metric::kBandwidth, false, sizes, streams);
    }
    if (plan_.latency && work_->can_measure(operation, Metric::kLatency))
      run_sizes(operation, Metric::kLatency, true, plan_.latency_sizes, 1);
  }

  // Until one fails.
  void run_sizes(int operation, Metric metric, bool from_a, const std::vector<std::uint64_t>& sizes,
                 int streams) {
    for (const std::uint64_t size : sizes) {
      if (size > work_->largest_message(operation)) return;
      if (stop_.stop_requested()) return;
      measurements_.push_back(measure(operation, metric, from_a, size, streams));
      if (measurements_.back().failure) return;
    }
  }

  Measurement measure(int operation, Metric metric, bool from_a, std::uint64_t size, int streams) {
    const PairEnd& from = from_a ? a_ : b_;
    const PairEnd& to = from_a ? b_ : a_;
    Measurement measurement;
    measurement.engine = engine_;
    measurement.metric = metric;
    measurement.operation = work_->operation_text(operation, metric);
    measurement.rail = rail_;
    measurement.from = endpoint(from);
    measurement.to = endpoint(to);
    measurement.message_bytes = size;
    measurement.streams = streams;
    if (on_measuring_)
      on_measuring_(fmt::format("{} {} {} → {}, {}", engine_.id(),
                                enum_names(metric)[static_cast<std::size_t>(metric)], from.peer->node(),
                                to.peer->node(), to_text(ByteCount{size})));
    WorkWatch watch(from, to, stop_);
    work_->measure(operation, from_a, measurement);
    if (!measurement.failure) watch.end(measurement);
    if (metric == Metric::kBandwidth && measurement.mtu > 0)
      measurement.ceiling = work_->ceiling(from_a, measurement);
    if (plan_.duplex) double_limits(measurement.ceiling);
    if (measurement.failure) explainer_.explain(engine_, *measurement.failure, stop_);
    return measurement;
  }

  static void double_limits(Ceiling& ceiling) {
    for (Limit& limit : ceiling.limits) {
      limit.name += ", both ways";
      limit.rate.bits_per_second *= 2;
    }
  }

  Engine engine_;
  const PairMeasuring& measuring_;
  const PairEnd& a_;
  const PairEnd& b_;
  std::string rail_;
  const BenchPlan& plan_;
  PathExplainer& explainer_;
  const OnMeasuring& on_measuring_;
  const std::stop_token& stop_;
  std::unique_ptr<PairEngine> work_;
  std::vector<Measurement> measurements_;
};

}  // namespace

std::vector<std::uint64_t> default_sizes(Engine engine) {
  const PairMeasuring* found = find_pair_measuring(engine);
  return found != nullptr ? found->sizes : std::vector<std::uint64_t>();
}

std::vector<std::uint64_t> all_sizes(Engine engine) {
  std::vector<std::uint64_t> sizes;
  if (const PairMeasuring* found = find_pair_measuring(engine))
    for (std::uint64_t size = found->smallest; size <= kLargestOfAll; size *= 2) sizes.push_back(size);
  return sizes;
}

int default_streams(Engine engine) {
  const PairMeasuring* found = find_pair_measuring(engine);
  return found != nullptr ? found->streams : 1;
}

std::vector<Measurement> measure_pair(const PairEnd& a, const PairEnd& b, std::string_view rail,
                                      const BenchPlan& plan, const OnMeasuring& on_measuring,
                                      std::stop_token stop) {
  std::vector<Measurement> all;
  PathExplainer explainer(a, b);
  for (const Engine engine : plan.engines) {
    const PairMeasuring* found = find_pair_measuring(engine);
    if (found == nullptr || stop.stop_requested()) continue;
    auto measured = PairRun(engine, *found, a, b, rail, plan, explainer, on_measuring, stop).run();
    std::move(measured.begin(), measured.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace railbed

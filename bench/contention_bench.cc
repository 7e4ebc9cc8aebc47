// How long it takes to tell what a cluster's traffic gets, every flow of it, with eight rails a node: the
// network built, each flow's way hashed, fair rates filled in.

// Rooms: predict
#include <benchmark/benchmark.h>

#include "predict/contention.h"

namespace railbed {
namespace {

NetworkPlan plan_of(NetworkShape shape, int gpus) {
  NetworkPlan plan;
  plan.shape = shape;
  plan.rails = 8;
  plan.nodes = gpus / plan.rails;
  plan.port = BitRate::gigabits(400);
  plan.leaf_ports = 64;
  return plan;
}

void forecast(benchmark::State& state, NetworkShape shape, TrafficPattern pattern) {
  const NetworkPlan plan = plan_of(shape, static_cast<int>(state.range(0)));
  std::uint64_t pairs = 0;
  for (auto _ : state) {
    const auto network = Network::build(plan);
    const auto result = forecast_traffic(*network, pattern);
    if (!result) return state.SkipWithError("too many flows");
    pairs = result->pairs;
    benchmark::DoNotOptimize(result->slowest);
  }
  state.counters["flows"] = static_cast<double>(pairs);
}
BENCHMARK_CAPTURE(forecast, ring_leaf_spine, NetworkShape::kLeafSpine, TrafficPattern::kRing)
    ->RangeMultiplier(8)
    ->Range(1024, 65536)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forecast, shift_leaf_spine, NetworkShape::kLeafSpine, TrafficPattern::kShift)
    ->RangeMultiplier(8)
    ->Range(1024, 65536)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forecast, shift_rail_optimised, NetworkShape::kRailOptimised, TrafficPattern::kShift)
    ->Arg(65536)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forecast, all_to_all_leaf_spine, NetworkShape::kLeafSpine, TrafficPattern::kAllToAll)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();

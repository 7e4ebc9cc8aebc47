// How long a forecast takes, whatever the number of GPUs: 65,536 is the largest that is asked for.

// Rooms: predict
#include <benchmark/benchmark.h>

#include "predict/collective_forecast.h"

namespace railbed {
namespace {

ClusterShape shape_of_nodes(int nodes) {
  ShapeWords words;
  words.gpu = "H100";
  words.gpus = 8;
  words.nodes = nodes;
  words.nic = "8x400ib";
  return *shape_from_words(words);
}

void forecast_one_size(benchmark::State& state) {
  const ClusterShape shape = shape_of_nodes(static_cast<int>(state.range(0)) / 8);
  for (auto _ : state)
    benchmark::DoNotOptimize(forecast_collective(shape, Collective::kAllReduce, std::uint64_t{1} << 30));
}
BENCHMARK(forecast_one_size)->Arg(16)->Arg(1024)->Arg(65536);

void forecast_all_sizes_of_all_operations(benchmark::State& state) {
  const ClusterShape shape = shape_of_nodes(static_cast<int>(state.range(0)) / 8);
  for (auto _ : state)
    for (std::size_t one = 0; one < enum_names(Collective{}).size(); ++one)
      for (int power = 3; power <= 34; ++power)
        benchmark::DoNotOptimize(
            forecast_collective(shape, static_cast<Collective>(one), std::uint64_t{1} << power));
}
BENCHMARK(forecast_all_sizes_of_all_operations)->Arg(65536)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();

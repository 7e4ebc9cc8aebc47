// What measuring itself costs: the clock, a sample, a check.
// Rooms: bench
#include <benchmark/benchmark.h>

#include <memory>

#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/statistics/histogram.h"
#include "bench/tcp/block.h"
#include "bench/verbs/message_slots.h"

namespace {

void read_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(railbed::now_ns());
}
BENCHMARK(read_clock);

void add_sample(benchmark::State& state) {
  const auto histogram = std::make_unique<railbed::Histogram>();
  std::uint64_t value = 1000;
  for (auto _ : state) histogram->add(value = value * 31 % 100'003);
}
BENCHMARK(add_sample);

void check_block(benchmark::State& state) {
  railbed::Blocks blocks(256 << 10, 1, 0);
  const std::vector<std::byte> block = railbed::make_pattern(256 << 10, 2);
  for (auto _ : state) benchmark::DoNotOptimize(blocks.check(block));
  state.SetBytesProcessed(state.iterations() * (256 << 10));
}
BENCHMARK(check_block);

void number_message(benchmark::State& state) {
  std::vector<std::byte> memory(8 << 20);
  const railbed::MessageSlots slots(memory, static_cast<std::size_t>(state.range(0)), 2, 128, 4096, 1);
  std::uint64_t message = 0;
  for (auto _ : state) slots.number(0, message++);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(number_message)->Arg(4 << 10)->Arg(64 << 10)->Arg(1 << 20);

}  // namespace

BENCHMARK_MAIN();

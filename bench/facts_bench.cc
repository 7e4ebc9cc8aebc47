// How long it takes to know a machine: the collectors on this one, and the same from a captured tree.

// Rooms: facts
#include <benchmark/benchmark.h>

#include "facts/facts.h"
#include "host/open.h"
#include "host/tree.h"

namespace railbed {
namespace {

const std::string kTree = RAILBED_SOURCE_DIR "/tests/machines/lab-vm1/node.tree";

// Each collector's own milliseconds stand beside the whole.
void collect_this_machine(benchmark::State& state) {
  const auto host = open_this_machine();
  std::map<std::string, double> milliseconds;
  for (auto _ : state)
    for (const auto& run : collect_facts(*host).collectors) milliseconds[run.name] += run.milliseconds;
  for (const auto& [name, sum] : milliseconds)
    state.counters[name + "_ms"] = benchmark::Counter(sum, benchmark::Counter::kAvgIterations);
}
BENCHMARK(collect_this_machine)->UseRealTime()->Unit(benchmark::kMillisecond);

void collect_tree(benchmark::State& state) {
  auto tree = read_tree(kTree);
  if (!tree) return state.SkipWithError(tree.error().text.c_str());
  const auto host = open_tree(std::move(*tree));
  for (auto _ : state) benchmark::DoNotOptimize(collect_facts(*host));
}
BENCHMARK(collect_tree)->UseRealTime()->Unit(benchmark::kMillisecond);

void read_tree_file(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_tree(kTree));
}
BENCHMARK(read_tree_file)->Unit(benchmark::kMillisecond);

void facts_through_json(benchmark::State& state) {
  const auto host = open_root(kTree);
  if (!host) return state.SkipWithError(host.error().text.c_str());
  const std::string text = facts_to_json(collect_facts(**host));
  for (auto _ : state) benchmark::DoNotOptimize(facts_from_json(text));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(facts_through_json)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();

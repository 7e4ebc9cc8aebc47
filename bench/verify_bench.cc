// How long a verdict takes over N nodes of eight rails: the 8×H100 machine of tests/machines, N times.

// Rooms: verify host facts inventory
#include <benchmark/benchmark.h>

#include <optional>

#include "composed_nodes.h"

namespace railbed {
namespace {

void verify_nodes(benchmark::State& state) {
  const Evidence evidence = composed_evidence(static_cast<int>(state.range(0)));
  std::size_t findings = 0;
  for (auto _ : state) {
    std::optional<Verdict> verdict = verify(evidence);
    findings = verdict->findings.size();
    benchmark::DoNotOptimize(findings);
    state.PauseTiming();  // a run prints its verdict and ends: nobody waits for the memory to be given back
    verdict.reset();
    state.ResumeTiming();
  }
  state.counters["findings"] = static_cast<double>(findings);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(verify_nodes)
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();

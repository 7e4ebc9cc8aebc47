// How long a verdict takes over N nodes of eight rails: the 8×H100 machine of tests/machines, N times. As
// `railbed verify` prints it, and with all that is sound kept too, as --all and --json need it.

// Rooms: verify host facts inventory
#include <benchmark/benchmark.h>

#include <memory>

#include "composed_nodes.h"

namespace railbed {
namespace {

void verify_nodes(benchmark::State& state, Keep keep) {
  const Evidence evidence = composed_evidence(static_cast<int>(state.range(0)));
  std::size_t findings = 0;
  for (auto _ : state) {
    auto verdict = std::make_unique<Verdict>(verify(evidence, keep));
    findings = verdict->findings.size();
    benchmark::DoNotOptimize(findings);
    state.PauseTiming();  // a run prints its verdict and ends: nobody waits for the memory to be given back
    verdict.reset();
    state.ResumeTiming();
  }
  state.counters["findings"] = static_cast<double>(findings);
  state.SetComplexityN(state.range(0));
}
void fleets(benchmark::internal::Benchmark* bench) {
  for (const int nodes : {1, 10, 100, 1000, 10000}) bench->Arg(nodes);
  bench->Unit(benchmark::kMillisecond)->Complexity();
}
BENCHMARK_CAPTURE(verify_nodes, printed, Keep::kUnsound)->Apply(fleets);
BENCHMARK_CAPTURE(verify_nodes, kept_whole, Keep::kAll)->Apply(fleets);

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();

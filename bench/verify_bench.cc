// How long a verdict takes over N nodes of eight rails: the 8×H100 machine of tests/machines, N times.

// Rooms: verify host facts inventory
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "facts/facts.h"
#include "host/open.h"
#include "inventory/load.h"
#include "verify/verify.h"

namespace railbed {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The same node over and over, each with addresses of its own.
Evidence evidence_of(int nodes) {
  const std::string folder = RAILBED_SOURCE_DIR "/tests/machines/h100-cx7";
  auto cluster = load_cluster(folder + "/cluster.yaml");
  auto host = open_root(folder + "/gpu01.tree");
  if (!cluster || !host) return {};
  const std::string text = facts_to_json(collect_facts(**host));
  Evidence evidence;
  evidence.cluster = *cluster;
  evidence.cluster.nodes.clear();
  for (Rail& rail : evidence.cluster.rails) {
    rail.subnet.reset();
    rail.ports.resize(1);
  }
  for (int i = 0; i < nodes; ++i) {
    Node node = cluster->nodes.front();
    node.name = fmt::format("gpu{:04}", i);
    std::string own = text;
    for (std::size_t n = 0; n < 11; ++n) {
      const std::string address = fmt::format("10.{}.{}.{}", n, i / 250, i % 250 + 1);
      own = replaced(std::move(own), fmt::format("10.{}.0.1\"", n), address + "\"");
      if (n >= evidence.cluster.rails.size()) continue;
      auto& ports = evidence.cluster.rails[n].ports;
      if (i > 0) ports.push_back(ports.front());
      ports.back().node = node.name;
      ports.back().address = IpAddress::parse(address);
    }
    if (auto facts = facts_from_json(own)) evidence.nodes.emplace(node.name, std::move(*facts));
    evidence.cluster.nodes.push_back(std::move(node));
  }
  return evidence;
}

void verify_nodes(benchmark::State& state) {
  const Evidence evidence = evidence_of(static_cast<int>(state.range(0)));
  std::size_t findings = 0;
  for (auto _ : state) {
    const Verdict verdict = verify(evidence);
    findings = verdict.findings.size();
    benchmark::DoNotOptimize(findings);
  }
  state.counters["findings"] = static_cast<double>(findings);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(verify_nodes)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond)->Complexity();

}  // namespace
}  // namespace railbed

BENCHMARK_MAIN();

// How long a verdict takes over N nodes of eight rails: the 8×H100 machine of tests/machines, N times.

// Rooms: verify host facts inventory
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <optional>

#include "facts/facts.h"
#include "host/open.h"
#include "inventory/load.h"
#include "verify/verify.h"

namespace railbed {
namespace {

// 10.RAIL.0.1 of the captured node becomes the i-th node's own; everything else stays.
void readdress(IpAddress& address, int i) {
  auto bytes = address.bytes();
  if (!address.is_v4() || bytes[12] != 10 || bytes[14] != 0 || bytes[15] != 1) return;
  bytes[14] = static_cast<std::uint8_t>(i / 250);
  bytes[15] = static_cast<std::uint8_t>(i % 250 + 1);
  address = IpAddress(bytes);
}

// The reading with its value changed in place.
template <class T, class Change>
void edit(Reading<T>& reading, Change change) {
  if (!reading.ok()) return;
  T value = reading.value();
  change(value);
  reading = Reading<T>(std::move(value), reading.from());
}

void readdress(Facts& facts, int i) {
  edit(facts.net.interfaces, [i](auto& interfaces) {
    for (NetInterface& interface : interfaces)
      edit(interface.addresses, [i](auto& addresses) {
        for (InterfaceAddress& one : addresses) readdress(one.address, i);
      });
  });
  edit(facts.rdma.devices, [i](auto& devices) {
    for (RdmaDevice& device : devices)
      edit(device.ports, [i](auto& ports) {
        for (RdmaPort& port : ports)
          edit(port.gids, [i](auto& gids) {
            for (Gid& gid : gids) edit(gid.gid, [i](IpAddress& address) { readdress(address, i); });
          });
      });
  });
}

// The same node over and over, each with addresses of its own.
Evidence evidence_of(int nodes) {
  const std::string folder = RAILBED_SOURCE_DIR "/tests/machines/h100-cx7";
  auto cluster = load_cluster(folder + "/cluster.yaml");
  auto host = open_root(folder + "/gpu01.tree");
  if (!cluster || !host) return {};
  const Facts facts = collect_facts(**host);
  Evidence evidence;
  evidence.cluster = *cluster;
  evidence.cluster.nodes.clear();
  for (Rail& rail : evidence.cluster.rails) {
    rail.subnet.reset();
    rail.ports.resize(1);
  }
  for (int i = 0; i < nodes; ++i) {
    Node node = cluster->nodes.front();
    node.name = fmt::format("gpu{:05}", i);
    for (Rail& rail : evidence.cluster.rails) {
      if (i > 0) rail.ports.push_back(rail.ports.front());
      rail.ports.back().node = node.name;
    }
    Facts own = facts;
    readdress(own, i);
    evidence.nodes.emplace(node.name, std::move(own));
    evidence.cluster.nodes.push_back(std::move(node));
  }
  for (Rail& rail : evidence.cluster.rails)  // the first last: the others started as its copies
    for (std::size_t i = rail.ports.size(); i-- > 0;)
      if (rail.ports[i].address) readdress(*rail.ports[i].address, static_cast<int>(i));
  return evidence;
}

void verify_nodes(benchmark::State& state) {
  const Evidence evidence = evidence_of(static_cast<int>(state.range(0)));
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

#include "facts/load.h"

#include <future>

#include "base/json.h"
#include "host/calls.h"
#include "host/host.h"

namespace railbed {
namespace {

std::optional<Load> load_of(const std::string& text) {
  auto answer = json::read<LoadAnswer>(text);
  if (!answer || !(answer->seconds > 0)) return std::nullopt;
  Load load;
  load.seconds = answer->seconds;
  for (auto& one : answer->ports)
    load.ports.push_back({one.device, one.number, std::move(one.counters), std::move(one.hw_counters)});
  for (auto& one : answer->interfaces)
    load.interfaces.push_back({one.name, std::move(one.statistics), std::move(one.driver)});
  for (auto& one : answer->pci) load.pci.push_back({one.address, std::move(one.errors)});
  return load;
}

std::optional<std::vector<GpuLoad>> gpus_of(const std::string& text) {
  auto answer = json::read<std::vector<GpuLoad>>(text);
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

}  // namespace

Reading<Load> collect_load(Host& host, int seconds) {
  auto gpus = std::async(std::launch::async,
                         [&] { return host.call("gpu-load " + std::to_string(seconds)).parsed(gpus_of); });
  auto load = host.call("load " + std::to_string(seconds)).parsed(load_of);
  auto busy = gpus.get();
  if (!load) return load;
  Load whole = *load;
  whole.gpus = std::move(busy);
  return {std::move(whole), load.from()};
}

}  // namespace railbed

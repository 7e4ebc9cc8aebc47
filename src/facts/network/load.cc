#include "facts/network/load.h"

#include <future>

#include "base/json.h"
#include "base/text.h"
#include "facts/network/optics.h"
#include "host/host.h"

namespace railbed {
namespace {

std::optional<Load> load_of(const std::string& text) {
  auto answer = json::read<LoadAnswer>(text);
  if (!answer || !(answer->seconds > 0)) return std::nullopt;
  Load load;
  load.seconds = answer->seconds;
  load.ports = std::move(answer->ports);
  for (auto& interface : answer->interfaces) load.interfaces.push_back({std::move(interface), {}});
  load.pci = std::move(answer->pci);
  return load;
}

std::optional<GpuLoads> gpus_of(const std::string& text) {
  auto answer = json::read<GpuLoads>(text);
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

// Reads all modules in parallel, because each takes a tenth of a second over a slow bus. Only interfaces with
// an RDMA device are read.
void collect_optics(Host& host, Load& load) {
  std::vector<std::future<void>> asked;
  for (auto& interface : load.interfaces)
    if (host.resolve("/sys/class/net/" + interface.name + "/device/infiniband"))
      asked.push_back(std::async(asked.size() < 64 ? std::launch::async : std::launch::deferred,
                                 [&] { interface.optics = read_optics(host, interface.name); }));
  for (auto& one : asked) one.get();
}

}  // namespace

// Parses lines such as
// "	Module temperature                        : 35.21 degrees C / 95.38 degrees F"
// "	Module temperature high alarm             : Off"
Optics parse_optics(std::string_view text) {
  Optics optics;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    const auto& [key, value] = *pair;
    if (key == "Module temperature") optics.celsius = parse_real(value.substr(0, value.find(' ')));
    const bool flag =
        key.find("alarm") != std::string_view::npos || key.find("warning") != std::string_view::npos;
    if (flag && value == "On") optics.alarms.emplace_back(key);
  }
  return optics;
}

Reading<Optics> read_optics(Host& host, const std::string& interface) {
  const auto output = host.run({"ethtool", "-m", interface}, std::chrono::seconds(5));
  if (!output) return {output.miss(), output.from()};
  if (output->exit_code != 0) {
    const bool denied = output->error_output.find("permitted") != std::string::npos;
    return {Miss{denied ? Missing::kDenied : Missing::kUnsupported, std::string(trim(output->error_output))},
            output.from()};
  }
  return {parse_optics(output->output), output.from()};
}

Reading<Load> collect_load(Host& host, int seconds) {
  auto gpus = std::async(std::launch::async,
                         [&] { return host.call("gpu-load " + std::to_string(seconds)).parsed(gpus_of); });
  auto load = host.call("load " + std::to_string(seconds)).parsed(load_of);
  auto busy = gpus.get();
  if (!load) return load;
  Load whole = *load;
  collect_optics(host, whole);
  whole.gpus = std::move(busy);
  return {std::move(whole), load.from()};
}

}  // namespace railbed

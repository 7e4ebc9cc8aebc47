// The load window: counters before and after. The load itself comes from elsewhere.
#include <algorithm>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "host/calls.h"
#include "host/device_calls.h"
#include "host/management.h"
#include "host/open.h"

namespace railbed {
namespace {

using Clock = std::chrono::steady_clock;

// A counter that reads "N/A (no PMA)" (mlx4) or fails is left out of the snapshot.
void read_folder(Host& machine, const std::string& folder, CounterMoves& into) {
  for (const auto& name : machine.list(folder).value_or({}))
    if (name != "lifespan")
      if (const auto line = machine.read_line(folder + "/" + name))
        if (const auto value = parse_number<std::uint64_t>(*line)) into.emplace(name, *value);
}

std::vector<PortLoad> read_ports(Host& machine) {
  const std::string kClass = "/sys/class/infiniband";
  std::vector<PortLoad> ports;
  for (const auto& device : machine.list(kClass).value_or({})) {
    if (manages_nvswitches(machine, device).value_or(false)) continue;
    const std::string folder = kClass + "/" + device + "/ports";
    for (const auto& number : machine.list(folder).value_or({})) {
      PortLoad port{device, parse_number<int>(number).value_or(0), {}, {}};
      read_folder(machine, folder + "/" + number + "/counters", port.counters);
      read_folder(machine, folder + "/" + number + "/hw_counters", port.hw_counters);
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

// Returns the totals that the driver reports.
CounterMoves fec_totals(const std::string& interface) {
  CounterMoves totals;
  const auto answer = call_fec(interface);
  if (!answer) return totals;
  const auto fec = json::read<FecState>(*answer);
  if (!fec) return totals;
  if (fec->corrected_blocks) totals.emplace("corrected_blocks", fec->corrected_blocks->total);
  if (fec->uncorrectable_blocks) totals.emplace("uncorrectable_blocks", fec->uncorrectable_blocks->total);
  if (fec->corrected_bits) totals.emplace("corrected_bits", fec->corrected_bits->total);
  return totals;
}

std::vector<InterfaceMoves> read_interfaces(Host& machine) {
  const std::string kClass = "/sys/class/net";
  std::vector<InterfaceMoves> interfaces;
  for (const auto& name : machine.list(kClass).value_or({})) {
    const std::string folder = kClass + "/" + name;
    if (!machine.resolve(folder + "/device")) continue;
    InterfaceMoves interface { name, {}, ethtool_statistics(name), fec_totals(name) };
    read_folder(machine, folder + "/statistics", interface.statistics);
    if (const auto line = machine.read_line(folder + "/carrier_changes"))
      if (const auto value = parse_number<std::uint64_t>(*line))
        interface.statistics.emplace("carrier_changes", *value);
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

// Reads totals such as "TOTAL_ERR_COR 0"; Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats.
std::vector<PciLoad> read_pci(Host& machine) {
  const std::string kDevices = "/sys/bus/pci/devices";
  std::vector<PciLoad> devices;
  for (const auto& address : machine.list(kDevices).value_or({})) {
    PciLoad device{address, {}};
    for (const std::string_view severity : {"correctable", "nonfatal", "fatal"}) {
      const auto text = machine.read(kDevices + "/" + address + "/aer_dev_" + std::string(severity), 4096);
      if (!text) continue;
      for (const auto line : lines(*text))
        if (const auto columns = words(line); columns.size() == 2 && columns[0].starts_with("TOTAL_ERR"))
          if (const auto value = parse_number<std::uint64_t>(columns[1]))
            device.errors.emplace(severity, *value);
    }
    if (!device.errors.empty()) devices.push_back(std::move(device));
  }
  return devices;
}

LoadAnswer read_all(Host& machine) {
  return {0, read_ports(machine), read_interfaces(machine), read_pci(machine)};
}

CounterMoves differences(const CounterMoves& before, const CounterMoves& after) {
  CounterMoves found;
  for (const auto& [name, first] : before)
    if (const auto second = after.find(name); second != after.end())
      if (const auto distance = moved(first, second->second)) found.emplace(name, *distance);
  return found;
}

// Compares the devices in both snapshots: one that came or went in between has no difference.
LoadAnswer differences(const LoadAnswer& before, const LoadAnswer& after) {
  LoadAnswer found;
  for (const auto& port : before.ports)
    for (const auto& two : after.ports)
      if (port.device == two.device && port.number == two.number)
        found.ports.push_back({port.device, port.number, differences(port.counters, two.counters),
                               differences(port.hw_counters, two.hw_counters)});
  for (const auto& interface : before.interfaces)
    for (const auto& two : after.interfaces)
      if (interface.name == two.name)
        found.interfaces.push_back({interface.name, differences(interface.statistics, two.statistics),
                                    differences(interface.driver, two.driver),
                                    differences(interface.fec, two.fec)});
  for (const auto& one : before.pci)
    for (const auto& two : after.pci)
      if (one.address == two.address) found.pci.push_back({one.address, differences(one.errors, two.errors)});
  return found;
}

}  // namespace

std::optional<std::uint64_t> moved(std::uint64_t before, std::uint64_t after) {
  if (after >= before) return after - before;
  // Queue pair counters of mlx5 have 32 bits.
  constexpr std::uint64_t kRound = std::uint64_t{1} << 32;
  if (before < kRound && before - after > kRound / 2) return kRound - before + after;
  return std::nullopt;
}

Reading<std::string> call_load(int seconds) {
  const auto machine = open_this_machine();
  const LoadAnswer before = read_all(*machine);
  const auto start = Clock::now();
  std::this_thread::sleep_until(start + std::chrono::seconds(seconds));
  const double passed = std::chrono::duration<double>(Clock::now() - start).count();
  // The adapter's hw_counters are refreshed at most every `lifespan` (10 ms unless someone set it higher).
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  LoadAnswer answer = differences(before, read_all(*machine));
  answer.seconds = passed;
  return {json::dump(json::encode(answer)), "load " + std::to_string(seconds)};
}

}  // namespace railbed

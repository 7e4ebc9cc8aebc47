#include "facts/network/load.h"

#include <algorithm>
#include <cmath>
#include <future>

#include "base/json.h"
#include "base/text.h"
#include "facts/network/optics.h"
#include "facts/readings.h"
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

constexpr std::size_t kLongestSerial = 64;  // the standards have 16 bytes

// Returns the number before the unit: 0.9240 of "0.9240 mW / -0.34 dBm".
std::optional<double> optics_number(std::string_view value) {
  const auto number = parse_real(value.substr(0, value.find(' ')));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

struct LaneKey {
  std::string_view text;
  std::optional<double> OpticsLane::*value;
};
constexpr LaneKey kLaneKeys[] = {
    {"Rcvr signal avg optical power", &OpticsLane::receive},
    {"Receiver signal average optical power", &OpticsLane::receive},  // SFF-8472: one lane
    {"Transmit avg optical power", &OpticsLane::send},
    {"Laser output power", &OpticsLane::send},  // SFF-8472
    {"Laser tx bias current", &OpticsLane::bias},
    {"Laser bias current", &OpticsLane::bias},  // SFF-8472
};

// Returns the lane that the rest of a key names: "(Channel 1)", with or without a blank; 1 if it names none. Nullopt for
// anything else, such as " high alarm threshold".
std::optional<int> lane_of(std::string_view rest) {
  constexpr std::string_view kChannel = "(Channel ";
  rest = trim(rest);
  if (rest.empty()) return 1;
  if (!rest.starts_with(kChannel) || !rest.ends_with(')')) return std::nullopt;
  const auto number = parse_number<int>(rest.substr(kChannel.size(), rest.size() - kChannel.size() - 1));
  return number && *number >= 0 && *number <= static_cast<int>(kMostLanes) ? number : std::nullopt;
}

// Returns whether the line is a value of a lane, and takes it.
bool read_lane(std::string_view key, double number, std::vector<OpticsLane>& lanes) {
  for (const LaneKey& known : kLaneKeys) {
    if (!key.starts_with(known.text)) continue;
    const auto lane = lane_of(key.substr(known.text.size()));
    if (!lane) continue;
    auto found = std::ranges::find(lanes, *lane, &OpticsLane::number);
    if (found == lanes.end()) {
      if (lanes.size() == kMostLanes) return true;
      found = lanes.insert(lanes.end(), OpticsLane{.number = *lane});
    }
    (*found).*known.value = number;
    return true;
  }
  return false;
}

struct LimitKey {
  std::string_view text;
  OpticsLimits Optics::*limits;
};
constexpr LimitKey kLimitKeys[] = {{"Laser rx power ", &Optics::receive},
                                   {"Laser output power ", &Optics::send},
                                   {"Laser tx power ", &Optics::send},
                                   {"Laser bias current ", &Optics::bias},
                                   {"Laser tx bias current ", &Optics::bias}};
struct LimitKind {
  std::string_view text;
  std::optional<double> OpticsLimits::*limit;
};
constexpr LimitKind kLimitKinds[] = {{"high alarm threshold", &OpticsLimits::high_alarm},
                                     {"low alarm threshold", &OpticsLimits::low_alarm},
                                     {"high warning threshold", &OpticsLimits::high_warning},
                                     {"low warning threshold", &OpticsLimits::low_warning}};

void read_limit(std::string_view key, double number, Optics& optics) {
  if (number <= 0) return;  // the module has none
  for (const LimitKey& known : kLimitKeys) {
    if (!key.starts_with(known.text)) continue;
    for (const LimitKind& kind : kLimitKinds)
      if (key.substr(known.text.size()) == kind.text) optics.*known.limits.*kind.limit = number;
  }
}

}  // namespace

// Parses lines such as
// "	Module temperature                        : 35.21 degrees C / 95.38 degrees F"
// "	Module temperature high alarm             : Off"
// "	Rcvr signal avg optical power(Channel 1)  : 0.9240 mW / -0.34 dBm"
// "	Laser rx power low alarm threshold        : 0.0467 mW / -13.31 dBm"
Optics parse_optics(std::string_view text) {
  Optics optics;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    if (!pair) continue;
    const auto& [key, value] = *pair;
    const std::optional<double> number = optics_number(value);
    if (key == "Module temperature") optics.celsius = number;
    if (key == "Module voltage") optics.volts = number;
    if (key == "Vendor SN") optics.serial = printable(value.substr(0, kLongestSerial));
    if (number && !read_lane(key, *number, optics.lanes)) read_limit(key, *number, optics);
    const bool flag =
        key.find("alarm") != std::string_view::npos || key.find("warning") != std::string_view::npos;
    if (flag && value == "On") optics.alarms.emplace_back(key);
  }
  std::ranges::sort(optics.lanes, {}, &OpticsLane::number);
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

std::vector<std::string> rdma_interfaces(const Rdma& rdma, const Net& net) {
  std::vector<std::string> names;
  for (const NetInterface& interface : items(net.interfaces))
    if (interface.pci_address.ok() && rdma_port_of(rdma, net, interface.name))
      names.push_back(interface.name);
  return names;
}

LinkReadings read_links(Host& host, const std::vector<std::string>& interfaces) {
  constexpr std::size_t kMost = 64;
  LinkReadings found;
  for (const std::string& name : interfaces)
    if (is_device_name(name, kLongestInterface) && found.size() < kMost) found.emplace(name, LinkReading());
  std::vector<std::future<void>> asked;
  for (auto& [name, reading] : found)
    asked.push_back(std::async(std::launch::async, [&host, &name = name, &reading = reading] {
      reading.optics = read_optics(host, name).to_optional();
      reading.fec = read_fec(host, name).to_optional();
    }));
  for (auto& one : asked) one.get();
  return found;
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

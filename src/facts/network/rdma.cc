#include "facts/network/rdma.h"

#include <algorithm>
#include <future>

#include "base/json.h"
#include "facts/network/net.h"
#include "facts/pcie.h"
#include "facts/readings.h"
#include "host/calls.h"
#include "host/management.h"
#include "host/sent_answers.h"

namespace railbed {
namespace {

const std::string kClass = "/sys/class/infiniband";
constexpr std::size_t kMostPorts = 8;  // adapters have one or two

// Returns the first `most` of the numeric names in order. No port has more than 4096 entries in a table.
std::vector<int> sorted_numbers(const std::vector<std::string>& names, std::size_t most = 4096) {
  std::vector<int> numbers;
  for (const auto& name : names)
    if (const auto number = parse_number<int>(name)) numbers.push_back(*number);
  std::sort(numbers.begin(), numbers.end());
  numbers.resize(std::min(numbers.size(), most));
  return numbers;
}

// Reads the word of "4: ACTIVE" or "5: LinkUp"; drivers/infiniband/core/sysfs.c.
Reading<std::string> read_word(Host& host, const std::string& path) {
  return host.read_line(path).parsed([](const std::string& line) -> std::optional<std::string> {
    const auto pair = key_value(line, ':');
    if (!pair || pair->second.empty()) return std::nullopt;
    return std::string(pair->second);
  });
}

// Reads all counters in a folder. A counter that the hardware lacks reads as "N/A (no PMA)" or fails with
// EINVAL; only that one is missing.
std::map<std::string, Reading<std::uint64_t>> read_counters(Host& host, const std::string& folder) {
  std::map<std::string, Reading<std::uint64_t>> counters;
  for (const auto& name : host.list(folder).value_or({}))
    // "lifespan" is the caching interval, not a counter.
    if (name != "lifespan") counters.emplace(name, read_number<std::uint64_t>(host, folder + "/" + name));
  return counters;
}

// Reads the GID table. Empty slots, which read as zero and whose type fails with EINVAL, are left out.
Reading<std::vector<Gid>> read_gids(Host& host, const std::string& port) {
  const auto names = host.list(port + "/gids");
  if (!names) return {names.miss(), names.from()};
  std::vector<Gid> gids;
  for (const int index : sorted_numbers(*names)) {
    const std::string number = std::to_string(index);
    Gid gid;
    gid.index = index;
    gid.gid = host.read_line(port + "/gids/" + number).parsed([](const std::string& line) {
      return IpAddress::parse(line);
    });
    if (gid.gid.absent() || (gid.gid && gid.gid->is_zero())) continue;
    gid.type = host.read_line(port + "/gid_attrs/types/" + number);
    gid.netdev = host.read_line(port + "/gid_attrs/ndevs/" + number);
    gids.push_back(std::move(gid));
  }
  return {std::move(gids), names.from()};
}

// Reads the port's partitions. The highest bit marks a full member (InfiniBand Architecture 10.9.1).
Reading<std::vector<std::uint16_t>> read_pkeys(Host& host, const std::string& port) {
  const auto names = host.list(port + "/pkeys");
  if (!names) return {names.miss(), names.from()};
  std::vector<std::uint16_t> keys;
  for (const int index : sorted_numbers(*names)) {
    const auto key = read_number<std::uint16_t>(host, port + "/pkeys/" + std::to_string(index), 16);
    if (key && *key != 0) keys.push_back(*key);
  }
  return {std::move(keys), names.from()};
}

// Parses the rate of "40 Gb/sec (4X QDR)".
std::optional<BitRate> parse_rate(const std::string& line) {
  const auto gigabits = parse_real(std::string_view(line).substr(0, line.find(' ')));
  if (!gigabits || line.find("Gb/sec") == std::string::npos) return std::nullopt;
  return BitRate::gigabits(*gigabits);
}

std::optional<std::string> parse_rate_text(const std::string& line) {
  const auto open = line.find('(');
  const auto close = line.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

// Reads the default traffic class. rdma_cm's setting is in configfs once its folder has been created;
// NVIDIA's OFED has its own under tc/.
Reading<int> read_tos(Host& host, const std::string& device, int port) {
  const std::string number = std::to_string(port);
  auto tos = read_number<int>(
      host, "/sys/kernel/config/rdma_cm/" + device + "/ports/" + number + "/default_roce_tos");
  if (!tos.absent()) return tos;
  const auto ofed = host.read_line(kClass + "/" + device + "/tc/" + number + "/traffic_class");
  if (!ofed) return tos;
  // "Global tclass=104"
  return ofed.parsed([](const std::string& line) {
    return parse_number<int>(std::string_view(line).substr(line.rfind('=') + 1));
  });
}

// Returns an MTU that libibverbs reports for a port, or why there is none.
Reading<int> verbs_mtu(const Reading<VerbsAnswer>& verbs, const std::string& device, int number,
                       int VerbsPort::*mtu) {
  const std::string from = "ibv_query_port";
  if (!verbs) return {verbs.miss(), from};
  for (const auto& one : verbs->devices) {
    if (one.name != device) continue;
    for (const auto& port : one.ports) {
      if (port.number != number) continue;
      if (!port.error.empty()) return {Miss{Missing::kUnsupported, port.error}, from};
      if (port.*mtu == 0) return {Miss{Missing::kGarbled, "not an MTU code"}, from};
      return {port.*mtu, from};
    }
    return {Miss{Missing::kUnsupported, one.error.empty() ? "no such port" : one.error}, from};
  }
  return {Miss{Missing::kAbsent, "libibverbs does not list this device"}, from};
}

Reading<bool> verbs_dma_buf(const Reading<VerbsAnswer>& verbs, const std::string& device) {
  const std::string from = "ibv_reg_dmabuf_mr";
  if (!verbs) return {verbs.miss(), from};
  for (const auto& one : verbs->devices)
    if (one.name == device && !one.dma_buf.empty()) return {one.dma_buf == "yes", from};
  return {Miss{Missing::kAbsent, "libibverbs does not say"}, from};
}

RdmaPort collect_port(Host& host, const std::string& device, int number, const Reading<VerbsAnswer>& verbs,
                      bool with_counters) {
  const std::string folder = kClass + "/" + device + "/ports/" + std::to_string(number);
  RdmaPort port;
  port.number = number;
  read_port(host, device, with_counters, port);
  port.link_layer = host.read_line(folder + "/link_layer");
  port.lid = read_number<int>(host, folder + "/lid", 16);
  port.sm_lid = read_number<int>(host, folder + "/sm_lid", 16);
  port.active_mtu = verbs_mtu(verbs, device, number, &VerbsPort::active_mtu);
  port.max_mtu = verbs_mtu(verbs, device, number, &VerbsPort::max_mtu);
  port.gids = read_gids(host, folder);
  port.roce_tos = read_tos(host, device, number);
  port.roce_mode = host.read_line("/sys/kernel/config/rdma_cm/" + device + "/ports/" +
                                  std::to_string(number) + "/default_roce_mode");
  port.pkeys = read_pkeys(host, folder);
  return port;
}

// Returns the driver. The kernel has no file for a software device's driver, and its node type does not
// identify it either. So the resolved path decides that it is one, /sys/devices/virtual/infiniband/rxe0, and
// its name which one.
Reading<std::string> driver_of(Host& host, const std::string& name, const Reading<std::string>& resolved) {
  const std::string link = kClass + "/" + name + "/device/driver";
  auto driver = read_link_name(host, link);
  if (!driver.absent() || !resolved || resolved->find("/virtual/") == std::string::npos) return driver;
  for (const std::string_view known : {"rxe", "siw"})
    if (name.starts_with(known)) return {std::string(known), resolved.from()};
  return driver;
}

Reading<bool> user_access(const std::string& name, const Reading<std::vector<std::string>>& claimed) {
  return claimed.parsed([&](const std::vector<std::string>& names) {
    return std::optional(std::find(names.begin(), names.end(), name) != names.end());
  });
}

RdmaDevice collect_device(Host& host, const std::string& name, const Reading<bool>& management,
                          const Reading<std::vector<std::string>>& claimed,
                          const Reading<VerbsAnswer>& verbs) {
  const std::string folder = kClass + "/" + name;
  RdmaDevice device;
  device.name = name;
  device.firmware = host.read_line(folder + "/fw_ver");
  device.board_id = host.read_line(folder + "/board_id");
  device.hca_type = host.read_line(folder + "/hca_type");
  device.node_guid = host.read_line(folder + "/node_guid");
  device.image_guid = host.read_line(folder + "/sys_image_guid");
  device.driver = driver_of(host, name, host.resolve(folder));
  const auto function = host.resolve(folder + "/device");
  device.pci_address =
      function.parsed([](const std::string& path) { return std::optional(last_pci_address(path)); });
  if (device.pci_address && device.pci_address->empty())
    device.pci_address = {Miss{Missing::kAbsent, "not on PCI"}, function.from()};
  device.numa_node = host.read_line(folder + "/device/numa_node").parsed([](const std::string& line) {
    return parse_number<int>(line);
  });
  device.parent = host.read_line(folder + "/parent");
  device.user_access = user_access(name, claimed);
  device.management = management;
  device.dma_buf = verbs_dma_buf(verbs, name);
  device.ports = host.list(folder + "/ports").parsed([&](const std::vector<std::string>& names) {
    std::vector<RdmaPort> ports;
    for (const int number : sorted_numbers(names, kMostPorts))
      ports.push_back(collect_port(host, name, number, verbs, !device.management.value_or(false)));
    return std::optional(std::move(ports));
  });
  return device;
}

// Returns the devices that the uverbs nodes belong to.
Reading<std::vector<std::string>> collect_user_nodes(Host& host) {
  const std::string folder = "/sys/class/infiniband_verbs";
  return host.list(folder).parsed([&](const std::vector<std::string>& nodes) {
    std::vector<std::string> devices;
    for (const auto& node : nodes)
      if (node.starts_with("uverbs"))
        if (auto device = host.read_line(folder + "/" + node + "/ibdev")) devices.push_back(*device);
    return std::optional(std::move(devices));
  });
}

// Reads the VPD of all devices in parallel, because it is slow; in sequence if a hostile tree has thousands.
std::map<std::string, Reading<bool>> read_management(Host& host, const std::vector<std::string>& devices) {
  std::map<std::string, std::future<Reading<bool>>> asked;
  const auto how = devices.size() <= 64 ? std::launch::async : std::launch::deferred;
  for (const auto& name : devices)
    asked.emplace(name, std::async(how, [&host, name] { return manages_nvswitches(host, name); }));
  std::map<std::string, Reading<bool>> answers;
  for (auto& [name, answer] : asked) answers.emplace(name, answer.get());
  return answers;
}

std::string verbs_call_without(const std::string& devices) {
  return devices.empty() ? "verbs" : "verbs except " + devices;
}

}  // namespace

void read_port(Host& host, const std::string& device, bool with_counters, RdmaPort& port) {
  const std::string folder = kClass + "/" + device + "/ports/" + std::to_string(port.number);
  port.state = read_word(host, folder + "/state");
  port.physical_state = read_word(host, folder + "/phys_state");
  const auto rate = host.read_line(folder + "/rate");
  port.rate = rate.parsed(parse_rate);
  port.rate_text = rate.parsed(parse_rate_text);
  if (rate && !port.rate_text)  // as ibstat prints it
    port.rate_text = {Miss{Missing::kUnsupported, "no width and speed beside the rate"}, rate.from()};
  if (!with_counters) return;
  port.counters = read_counters(host, folder + "/counters");
  port.hw_counters = read_counters(host, folder + "/hw_counters");
}

Rdma collect_rdma(Host& host) {
  Rdma rdma;
  auto names = device_names(host, kClass, kLongestDevice, kMostRdmaDevices);
  // Without ib_core the folder does not exist: such a machine has no RDMA devices, and the reading is not missing. A
  // folder without any of /sys/class is a copy of a part of a machine, and its devices are not known.
  if (names.absent() && host.list("/sys/class")) names = {std::vector<std::string>{}, kClass};
  const auto management = read_management(host, items(names));
  std::string left_alone;
  for (const auto& [name, manages] : management)
    if (manages.value_or(false)) left_alone += (left_alone.empty() ? "" : ",") + name;
  const auto verbs = host.call(verbs_call_without(left_alone))
                         .parsed([](const std::string& answer) -> std::optional<VerbsAnswer> {
                           auto parsed = json::read<VerbsAnswer>(answer);
                           if (!parsed) return std::nullopt;
                           return *parsed;
                         });
  rdma.verbs_library = verbs.parsed([](const VerbsAnswer& answer) { return std::optional(answer.library); });
  rdma.verbs_devices = verbs.parsed([](const VerbsAnswer& answer) {
    std::vector<std::string> listed;
    for (const auto& device : answer.devices)
      if (listed.size() < kMostRdmaDevices) listed.push_back(device.name);
    return std::optional(std::move(listed));
  });
  if (verbs && verbs->devices.empty() && !verbs->library.empty() && !verbs->error.empty())
    rdma.verbs_devices = {Miss{Missing::kUnsupported, verbs->error}, verbs.from()};
  rdma.device_modes = host.call("modes /dev/infiniband")
                          .parsed([](const std::string& answer) -> std::optional<std::map<std::string, int>> {
                            auto parsed = json::read<std::map<std::string, int>>(answer);
                            if (!parsed) return std::nullopt;
                            return std::move(*parsed);
                          });
  // A module parameter of type bool reads Y or N.
  rdma.shared_netns =
      host.read_line("/sys/module/ib_core/parameters/netns_mode").parsed([](const std::string& line) {
        return line == "Y" || line == "N" ? std::optional(line == "Y") : std::nullopt;
      });
  rdma.driver_version = host.read_line("/sys/module/mlx5_core/version");
  if (rdma.driver_version.absent())
    if (auto old = host.read_line("/sys/module/mlx4_core/version"); old) rdma.driver_version = std::move(old);
  rdma.peer_memory_clients = host.list("/sys/kernel/mm/memory_peers");
  rdma.adapters = host.call("adapters")
                      .parsed([](const std::string& answer) -> std::optional<std::vector<AdapterAnswer>> {
                        auto parsed = json::read<std::vector<AdapterAnswer>>(answer);
                        if (!parsed || parsed->size() > kMostSentAdapters) return std::nullopt;
                        return std::move(*parsed);
                      });
  rdma.signals =
      host.call("signals").parsed([](const std::string& answer) -> std::optional<std::vector<SignalAnswer>> {
        auto parsed = json::read<std::vector<SignalAnswer>>(answer);
        if (!parsed || parsed->size() > kMostSentSignals) return std::nullopt;
        return std::move(*parsed);
      });
  const auto claimed = collect_user_nodes(host);
  rdma.devices = names.parsed([&](const std::vector<std::string>& found) {
    std::vector<RdmaDevice> devices;
    for (const auto& name : found)
      devices.push_back(collect_device(host, name, management.at(name), claimed, verbs));
    return std::optional(std::move(devices));
  });
  return rdma;
}

}  // namespace railbed

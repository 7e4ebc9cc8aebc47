#include "report/text/facts_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "facts/network/net.h"
#include "report/escape.h"

namespace railbed {
namespace {

constexpr std::size_t kLabel = 10;
constexpr std::size_t kWidth = 120;
constexpr std::size_t kGidsShown = 4;
constexpr std::size_t kMissesShown = 3;

template <class T>
std::string shown(const Reading<T>& reading) {
  if (!reading) return "?";
  if constexpr (requires { to_text(*reading); })
    return to_text(*reading);
  else
    return printable(fmt::format("{}", *reading));
}

std::string shown_limit(const Reading<std::uint64_t>& limit) {
  if (!limit) return "?";
  return *limit == kUnlimited ? "unlimited" : to_text(ByteCount{*limit});
}

// Formats a section. Only the first line has the label.
std::string section(std::string_view label, const std::vector<std::string>& rows) {
  std::string text;
  for (const auto& row : rows)
    text += fmt::format("{:<{}}{}\n", text.empty() ? label : "", kLabel, shortened(row, kWidth - kLabel));
  return text;
}

std::string title(const Facts& facts) {
  const Os& os = facts.system.os;
  const Kernel& kernel = facts.system.kernel;
  std::string uptime;
  if (kernel.uptime_seconds) {
    const auto minutes = static_cast<long>(*kernel.uptime_seconds / 60);
    uptime = minutes < 120    ? fmt::format(" · up {} min", minutes)
             : minutes < 2880 ? fmt::format(" · up {} h", minutes / 60)
                              : fmt::format(" · up {} days", minutes / 1440);
  }
  return fmt::format("{} · {} · kernel {} · {}{}\n", shown(os.hostname), shown(os.name),
                     shown(kernel.release), shown(os.architecture), uptime);
}

std::string cpu_row(const Cpu& cpu) {
  std::string governors = cpu.governors || cpu.governors.absent() ? "" : "?";
  for (const auto& [governor, count] : cpu.governors.value_or({}))
    governors += (governors.empty() ? "" : ", ") + printable(governor);
  // arm64 does not report how many there are.
  const std::string sockets = cpu.sockets.absent() ? ""
                                                   : fmt::format(" · {} socket{}", shown(cpu.sockets),
                                                                 cpu.sockets.value_or(1) == 1 ? "" : "s");
  // A kernel without NUMA has no list of nodes, as a report may have none.
  const std::string nodes = cpu.numa_nodes.empty() ? "?" : std::to_string(cpu.numa_nodes.size());
  return fmt::format("{} × {}{} · {} NUMA node{} · governor {} · clock {}", shown(cpu.online),
                     shown(cpu.model), sockets, nodes, cpu.numa_nodes.size() == 1 ? "" : "s",
                     governors.empty() ? "none" : governors, shown(cpu.clocksource));
}

std::string memory_row(const Memory& memory) {
  return fmt::format("{}, {} available · swap {} · hugepages {} × {} · memlock {} (hard {})",
                     shown(memory.total), shown(memory.available), shown(memory.swap_total),
                     shown(memory.hugepages_total), shown(memory.hugepage_size),
                     shown_limit(memory.memlock_soft), shown_limit(memory.memlock_hard));
}

std::vector<std::string> storage_rows(const Storage& storage) {
  std::vector<std::string> rows;
  std::string systems;
  for (const auto& system : storage.file_systems)
    systems += fmt::format("{}{} {} free of {}", systems.empty() ? "" : " · ", system.path,
                           shown(system.available), shown(system.size));
  if (!systems.empty()) rows.push_back(systems);
  for (const auto& device : items(storage.block_devices))
    rows.push_back(fmt::format("{} {} {}", printable(device.name),
                               device.model ? printable(*device.model) : "", shown(device.size)));
  return rows;
}

std::string nvlink_text(const NvmlGpu& gpu) {
  const auto links = gpu.nvlinks.value_or({});
  const auto active =
      std::count_if(links.begin(), links.end(), [](const auto& link) { return link.second.active; });
  if (active == 0) return "";
  const int speed = links.begin()->second.speed_mbps.value_or(0);
  return fmt::format("  {} NVLinks{}", active, speed > 0 ? fmt::format(" × {} MB/s", speed) : "");
}

// Returns NVML's values and the result of trying CUDA; a dash for a value that NVML lacks.
std::string gpu_row(const Gpu& gpu) {
  if (!gpu.nvml)
    return fmt::format("{}  {}", gpu.pci_address, printable(describe(gpu.nvml.miss(), gpu.nvml.from())));
  const NvmlGpu& nvml = *gpu.nvml;
  const auto number = [](const auto& reading) {
    return reading ? fmt::format("{:.0f}", double(*reading)) : "-";
  };
  std::string cuda = "CUDA not tried";
  if (gpu.cuda)
    cuda = gpu.cuda->error.empty() && gpu.cuda->wrong_words == 0 ? "CUDA works"
                                                                 : "CUDA: " + printable(gpu.cuda->error);
  return fmt::format("{}  {}  {} °C  {}/{} W  PCIe Gen{} x{}{}  ECC {}  {}", gpu.pci_address,
                     nvml.memory ? to_text(ByteCount{*nvml.memory}) : "-", number(nvml.temperature),
                     number(nvml.power), number(nvml.power_limit), number(nvml.pcie_generation),
                     number(nvml.pcie_width), nvlink_text(nvml), nvml.ecc ? (*nvml.ecc ? "on" : "off") : "-",
                     cuda);
}

// Returns the driver's name of a GPU, else that of the PCI database.
std::string name_of(const Gpu& gpu) {
  if (gpu.model) return printable(*gpu.model);
  if (gpu.nvml && gpu.nvml->name) return printable(*gpu.nvml->name);
  if (gpu.pci_name) return printable(*gpu.pci_name);
  return gpu.model.absent() ? "NVIDIA GPU (no driver)" : "NVIDIA GPU";
}

// Returns the driver that PCI shows, for a report that does not hold its version.
std::string driver_of(const Facts& facts) {
  for (const Gpu& gpu : items(facts.gpus.devices)) {
    const PciDevice* device = find_pci(items(facts.pci), gpu.pci_address);
    if (device != nullptr && device->driver) return printable(*device->driver) + " ?";
  }
  return "?";
}

std::vector<std::string> gpu_lines(const Facts& facts) {
  const Gpus& gpus = facts.gpus;
  if (!gpus.devices) return {"? " + describe(gpus.devices.miss(), gpus.devices.from())};
  if (gpus.devices->empty()) return {"none on PCI"};
  std::map<std::string, int> models;
  for (const auto& gpu : *gpus.devices) ++models[name_of(gpu)];
  std::vector<std::string> rows;
  for (const auto& [model, count] : models) rows.push_back(fmt::format("{} × {}", count, model));
  rows.front() += gpus.driver_version ? fmt::format(" · driver {}{}", printable(*gpus.driver_version),
                                                    gpus.open_module.value_or(false) ? " (open)" : "")
                  : gpus.driver_version.absent() ? " · driver not loaded"
                                                 : " · driver " + driver_of(facts);
  if (gpus.nvml && gpus.nvml->cuda_version)
    rows.front() += fmt::format(" · CUDA {}", cuda_version_text(*gpus.nvml->cuda_version));
  for (const auto& gpu : *gpus.devices)
    if (!gpu.nvml.absent()) rows.push_back(gpu_row(gpu));
  return rows;
}

std::string state_of(const NetInterface& interface) {
  if (interface.administratively_up && !*interface.administratively_up) return "off";
  if (interface.carrier && !*interface.carrier) return "no carrier";
  return "up";
}

std::string interface_row(const NetInterface& interface) {
  std::string addresses;
  for (const auto& address : items(interface.addresses))
    if (!address.address.is_link_local())
      addresses +=
          fmt::format("{}{}/{}", addresses.empty() ? "" : ", ", address.address.to_text(), address.prefix);
  const std::string speed =
      interface.speed_mbps ? to_text(BitRate{*interface.speed_mbps * 1e6}) : std::string("-");
  std::string extra;
  if (interface.bond_mode) extra += " " + printable(*interface.bond_mode);
  if (interface.master) extra += " in " + printable(*interface.master);
  if (interface.ipoib_mode) extra += " " + printable(*interface.ipoib_mode);
  if (interface.fec && interface.fec->active != FecMode::kNone)
    extra += fmt::format(" FEC {}", fec_mode_text(interface.fec->active));
  return fmt::format("{:<12} {:<10} {:>8}  MTU {:<5} {:<10} {:<12} {}{}", printable(interface.name),
                     state_of(interface), speed, shown(interface.mtu),
                     interface.driver ? shown(interface.driver) : "-",
                     interface.pci_address ? shown(interface.pci_address) : "-",
                     addresses.empty() ? "no address" : addresses, extra);
}

std::vector<std::string> network_rows(const Net& net) {
  if (!net.interfaces) return {"? " + describe(net.interfaces.miss(), net.interfaces.from())};
  std::vector<std::string> rows;
  for (const auto& interface : *net.interfaces)
    if (interface.name != "lo") rows.push_back(interface_row(interface));
  if (rows.empty()) rows.emplace_back("no interface but loopback");
  return rows;
}

std::string gid_row(const Gid& gid) {
  return fmt::format("  GID {:<3} {}  {}  {}", gid.index, gid.gid ? gid.gid->to_text() : "?",
                     gid.type ? shown(gid.type) : "-", gid.netdev ? shown(gid.netdev) : "-");
}

std::string place_of(const RdmaDevice& device) {
  if (device.pci_address) return shown(device.pci_address);
  return device.pci_address.absent() ? "software" : "PCI ?";
}

void add_port_rows(const RdmaDevice& device, const RdmaPort& port, std::vector<std::string>& rows) {
  rows.push_back(fmt::format(
      "{}/{}  {} ({})  {} ({})  {}  MTU {}  {}{}", printable(device.name), port.number, shown(port.state),
      shown(port.physical_state), shown(port.rate), shown(port.rate_text), shown(port.link_layer),
      shown(port.active_mtu), place_of(device),
      device.firmware && !device.firmware->empty() ? "  firmware " + shown(device.firmware) : ""));
  const auto& gids = items(port.gids);
  for (std::size_t i = 0; i < gids.size() && i < kGidsShown; ++i) rows.push_back(gid_row(gids[i]));
  if (gids.size() > kGidsShown) rows.push_back(fmt::format("  and {} more GIDs", gids.size() - kGidsShown));
  if (port.gids && gids.empty()) rows.emplace_back("  no GID");
}

std::vector<std::string> rdma_rows(const Rdma& rdma) {
  if (!rdma.devices) return {"? " + describe(rdma.devices.miss(), rdma.devices.from())};
  if (rdma.devices->empty()) return {"no device"};
  std::vector<std::string> rows;
  for (const auto& device : *rdma.devices) {
    for (const auto& port : items(device.ports)) add_port_rows(device, port, rows);
    // Some outputs name a device and nothing of its ports.
    if (items(device.ports).empty()) rows.push_back(printable(device.name) + "  ports ?");
  }
  return rows;
}

std::vector<std::string> nccl_rows(const Nccl& nccl) {
  std::vector<std::string> rows;
  if (nccl.library)
    rows.push_back(printable(fmt::format("{}  ({})", nccl.library->version, nccl.library->path)));
  std::set<std::string> names;
  for (const NcclVariable* variable : by_precedence(nccl))
    if (names.insert(variable->name).second)
      rows.push_back(printable(fmt::format("{}={}  ({})", variable->name, variable->value, variable->from)));
  for (const NcclService& service : nccl.services)
    for (const auto& variable : items(service.variables))
      rows.push_back(printable(fmt::format("{}={}  ({}, for what {} starts)", variable.name, variable.value,
                                           variable.from, service.name)));
  const auto* gap = untold(nccl);
  if (gap != nullptr) rows.push_back("? " + describe(gap->miss(), gap->from()));
  if (rows.empty()) rows.emplace_back("nothing set");
  return rows;
}

// Collects readings that need attention: denied, garbled or timed out. A thing that is absent, or that a
// driver does not offer, is the normal state of most of /sys. Facts that a support report does not hold are
// counted.
void find_misses(const json::Value& value, std::vector<std::string>& misses, std::size_t& unknown) {
  if (value.is_object() && value.contains("missing")) {
    const auto word = value["missing"].get<std::string>();
    if (word == "absent" || word == "unsupported") return;
    if (word == "unknown") {
      ++unknown;
      return;
    }
    misses.push_back(
        fmt::format("{}: {} ({})", value["from"].get<std::string>(), value["why"].get<std::string>(), word));
    return;
  }
  for (const auto& item : value)
    if (item.is_structured()) find_misses(item, misses, unknown);
}

std::string misses_section(const Facts& facts) {
  std::vector<std::string> misses;
  std::size_t unknown = 0;
  find_misses(json::encode(facts), misses, unknown);
  misses.erase(std::unique(misses.begin(), misses.end()), misses.end());
  if (misses.empty() && unknown == 0) return "";
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < misses.size() && i < kMissesShown; ++i) rows.push_back(printable(misses[i]));
  if (misses.size() > kMissesShown)
    rows.push_back(fmt::format("and {} more: railbed facts --json", misses.size() - kMissesShown));
  if (unknown > 0) rows.push_back(fmt::format("{} facts are not told: railbed facts --json", unknown));
  return section("Not read", rows);
}

}  // namespace

std::string render_facts(const Facts& facts) {
  const System& system = facts.system;
  return printable_lines(
      title(facts) + section("CPU", {cpu_row(system.cpu)}) + section("Memory", {memory_row(system.memory)}) +
      section("Disk", storage_rows(system.storage)) + section("GPUs", gpu_lines(facts)) +
      section("Network", network_rows(facts.net)) + section("RDMA", rdma_rows(facts.rdma)) +
      section("NCCL", nccl_rows(facts.nccl)) + misses_section(facts));
}

bool looked_at_anything(const Facts& facts) {
  return facts.system.kernel.release || facts.system.os.id || facts.net.interfaces || facts.pci;
}

}  // namespace railbed

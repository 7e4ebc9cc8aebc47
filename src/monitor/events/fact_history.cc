#include "monitor/events/fact_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "facts/facts.h"
#include "facts/mask/mask.h"
#include "report/findings.h"

namespace railbed {
namespace {

constexpr std::size_t kLongestFact = 1024;
constexpr std::size_t kLongestShown = 120;
constexpr std::size_t kLongestFactName = 256;
constexpr std::size_t kMostFacts = 20'000;
constexpr std::string_view kThere = "there";
constexpr std::string_view kNotThere = "gone";

// Fills a table. A fact that could not be read is left out.
class TableWriter {
 public:
  explicit TableWriter(FactTable& table) : table_(table) {}

  void value(const std::string& property, const std::vector<std::string>& things, const std::string& value) {
    const std::string name = things.empty() ? property : property + " of " + things.front();
    put(name, {shortened_bytes(printable(value), kLongestFact), {}, things});
  }
  template <class T>
  void reading(const std::string& property, const std::vector<std::string>& things, const Reading<T>& read) {
    if (read.ok()) value(property, things, text_of(*read));
  }
  // Writes a reading for which the absence of a value is a fact, too, such as a device without a driver.
  void or_none(const std::string& property, const std::vector<std::string>& things,
               const Reading<std::string>& read) {
    if (read.ok() || (read.absent() && !read.from().empty()))
      value(property, things, read.ok() ? *read : "none");
  }
  void is_there(const std::string& kind, const std::vector<std::string>& things) {
    put(kind + ' ' + things.front(), {std::string(kThere), kind, things});
  }

 private:
  static std::string text_of(const std::string& text) { return text; }
  static std::string text_of(bool on) { return on ? "on" : "off"; }
  template <class Number>
  static std::string text_of(const Number& number) {
    return fmt::format("{}", number);
  }
  void put(const std::string& name, ComparedFact fact) {
    if (table_.facts.size() >= kMostFacts) return;
    for (std::string& thing : fact.things) thing = shortened_bytes(printable(thing), kLongestFactName);
    table_.facts[shortened_bytes(printable(name), kLongestFactName)] = std::move(fact);
  }
  FactTable& table_;
};

std::string joined(const auto& items) { return fmt::format("{}", fmt::join(items, " ")); }

void add_system(const System& system, TableWriter& table) {
  table.reading("operating system", {}, system.os.name);
  table.reading("kernel", {}, system.kernel.release);
  if (system.kernel.command_line)
    table.value("kernel's command line", {}, masked_command_line(*system.kernel.command_line));
  table.reading("reboot required", {}, system.kernel.reboot_required);
  table.reading("machine", {}, system.firmware.product);
  table.reading("BIOS", {}, system.firmware.version);
  table.reading("CPUs online", {}, system.cpu.online);
  table.reading("clock source", {}, system.cpu.clocksource);
  if (system.cpu.governors) {
    std::vector<std::string> names;
    for (const auto& [name, count] : *system.cpu.governors) names.push_back(name);
    table.value("CPU governor", {}, joined(names));
  }
  if (system.memory.total)
    table.value("memory", {}, fmt::format("{:.0f} GiB", double(system.memory.total->bytes) / (1U << 30)));
  table.reading("huge pages", {}, system.memory.hugepages_total);
  for (const auto& [key, read] : system.sysctl) table.reading(key, {}, read);
  for (const Service& service : items(system.services))
    if (service.load_state == "loaded" && !service.active_state.ends_with("ing"))  // activating, reloading
      table.value("service " + service.name, {}, service.active_state);
  for (const NvmeController& controller : items(system.storage.nvme)) {
    if (is_over_fabric(controller)) continue;  // it goes with its server, and storage.connected says so
    std::vector<std::string> things = {controller.name};
    if (controller.pci_address) things.push_back(*controller.pci_address);
    table.is_there("NVMe drive", things);
    table.reading("model", things, controller.model);
    table.reading("firmware", things, controller.firmware);
  }
}

void add_software(const Facts& facts, TableWriter& table) {
  table.reading("GPU driver", {}, facts.gpus.driver_version);
  table.reading("open GPU driver", {}, facts.gpus.open_module);
  table.reading("fabric manager", {}, facts.gpus.fabric_manager);
  table.or_none("nvidia_peermem", {}, facts.gpus.peer_memory);
  table.or_none("driver package of the adapters", {}, facts.rdma.driver_version);
  if (facts.nccl.library) table.value("NCCL", {}, facts.nccl.library->version);
  for (const NcclVariable& variable : items(facts.nccl.system_file))
    table.value(variable.name + " in /etc/nccl.conf", {}, variable.value);
}

// Returns the names by which findings refer to the device of an interface.
std::vector<std::string> things_of(const NetInterface& interface, const Facts& facts) {
  std::vector<std::string> things = {interface.name};
  if (const RdmaPortRef port = rdma_port_of(facts.rdma, facts.net, interface.name))
    things.push_back(port.device->name);
  if (interface.pci_address) things.push_back(*interface.pci_address);
  return things;
}

void add_interface(const NetInterface& interface, const Facts& facts, TableWriter& table) {
  // Interfaces that come and go with containers and virtual machines are not hardware of the node.
  const bool lasting =
      interface.pci_address.ok() || interface.bond_mode.ok() || interface.link_type.value_or(0) == 32 ||
      find_vlan(facts.net, interface.name) != nullptr || rdma_port_of(facts.rdma, facts.net, interface.name);
  if (!lasting) return;
  const auto things = things_of(interface, facts);
  table.is_there("interface", things);
  table.reading("MTU", things, interface.mtu);
  if (!rdma_port_of(facts.rdma, facts.net, interface.name)) table.or_none("driver", things, interface.driver);
  table.reading("MAC address", things, interface.mac);
  table.or_none("bond or bridge", things, interface.master);
  table.reading("bond mode", things, interface.bond_mode);
  table.reading("IPoIB mode", things, interface.ipoib_mode);
  table.reading("switched on", things, interface.administratively_up);
  if (interface.carrier.value_or(false) && interface.speed_mbps)
    table.value("speed", things, fmt::format("{} Mb/s", *interface.speed_mbps));
  if (interface.addresses) {
    std::set<std::string> addresses;
    for (const InterfaceAddress& address :
         *interface.addresses)  // IPv6's privacy addresses change by themselves
      if (address.address.is_v4()) addresses.insert(address.address.to_text());
    table.value("addresses", things, addresses.empty() ? "none" : joined(addresses));
  }
  if (interface.pause)
    table.value("pause frames", things,
                fmt::format("receive {}, send {}", interface.pause->receive ? "on" : "off",
                            interface.pause->transmit ? "on" : "off"));
  if (interface.priorities) {
    table.value("lossless priorities", things,
                interface.priorities->lossless.empty() ? "none" : joined(interface.priorities->lossless));
    table.value("trust", things, interface.priorities->dscp.empty() ? "VLAN tag" : "DSCP");
  }
}

void add_rdma(const RdmaDevice& device, const Facts& facts, TableWriter& table) {
  std::vector<std::string> things = {device.name};
  if (device.pci_address) things.push_back(*device.pci_address);
  for (const NetInterface& interface : items(facts.net.interfaces))
    if (const auto port = rdma_port_of(facts.rdma, facts.net, interface.name); port && port.device == &device)
      things.push_back(interface.name);
  table.is_there("RDMA device", things);
  table.reading("firmware", things, device.firmware);
  table.reading("board", things, device.board_id);
  table.reading("GUID", things, device.node_guid);
  table.or_none("driver", things, device.driver);
  for (const RdmaPort& port : items(device.ports)) {
    std::vector<std::string> names = {fmt::format("{}/{}", device.name, port.number)};
    names.insert(names.end(), things.begin(), things.end());
    table.reading("link layer", names, port.link_layer);
    table.reading("traffic class", names, port.roce_tos);
    table.reading("RoCE mode", names, port.roce_mode);
    if (port.state.value_or("") != "ACTIVE") continue;  // the values below are negotiated with the other end
    if (port.rate) table.value("rate", names, to_text(*port.rate));
    table.reading("RDMA MTU", names, port.active_mtu);
  }
}

void add_gpu(const Gpu& gpu, TableWriter& table) {
  const std::vector<std::string> things = {gpu.pci_address};
  table.is_there("GPU", things);
  table.reading("UUID", things, gpu.uuid);
  if (!gpu.nvml) return;
  table.reading("VBIOS", things, gpu.nvml->vbios);
  table.reading("ECC", things, gpu.nvml->ecc);
  table.reading("MIG", things, gpu.nvml->mig);
  table.reading("persistence", things, gpu.nvml->persistence);
  table.reading("compute mode", things, gpu.nvml->compute_mode);
  if (gpu.nvml->power_limit)
    table.value("power limit", things, fmt::format("{:.0f} W", *gpu.nvml->power_limit));
  table.reading("GSP firmware", things, gpu.nvml->gsp_firmware);
}

void add_pci(const PciDevice& device, TableWriter& table) {
  if (is_bridge(device)) return;
  const std::vector<std::string> things = {device.address};
  if (!is_gpu(device)) table.is_there("PCI device", things);
  // add_interface() and add_rdma() write an adapter's driver
  if (!is_network(device)) table.or_none("driver", things, device.driver);
  table.reading("NUMA node", things, device.numa_node);
  table.reading("IOMMU", things, device.iommu_type);
  table.reading("largest read request", things, device.max_read_request);
  table.reading("relaxed ordering", things, device.relaxed_ordering);
  // The link's speed drops by itself while a GPU idles. Lost lanes do not come back.
  if (device.link_now) table.value("PCIe lanes", things, std::to_string(device.link_now->width));
}

// Returns the words of `text` that are not in `other`; "nothing" if there are none. Used for long values that
// are lists of words.
std::string words_missing_in(std::string_view text, std::string_view other) {
  const auto theirs = words(other);
  const std::set<std::string_view> known(theirs.begin(), theirs.end());
  std::string missing;
  for (const std::string_view word : words(text))
    if (!known.contains(word)) missing += (missing.empty() ? "" : " ") + std::string(word);
  return missing.empty() ? "nothing" : missing;
}

// Returns the change from `before` to `after`. Of long values it holds only the words that differ.
FactChange change_of(const std::string& what, const std::string& before, const ComparedFact& after) {
  FactChange change;
  change.what = what;
  change.things = after.things;
  const bool is_long = before.size() > kLongestShown || after.value.size() > kLongestShown;
  change.before = shortened_bytes(is_long ? words_missing_in(before, after.value) : before, kLongestShown);
  change.after =
      shortened_bytes(is_long ? words_missing_in(after.value, before) : after.value, kLongestShown);
  return change;
}

bool lists(const FactTable& table, const std::string& kind) {
  return std::ranges::find(table.kinds, kind) != table.kinds.end();
}

}  // namespace

std::string FactChange::text() const {
  if (before.empty() && after.empty()) return what;
  return fmt::format("{} {} → {}", what, before.empty() ? "nothing" : before,
                     after.empty() ? "nothing" : after);
}

FactTable compared_facts(const Facts& facts) {
  FactTable table;
  TableWriter writer(table);
  add_system(facts.system, writer);
  add_software(facts, writer);
  for (const NetInterface& interface : items(facts.net.interfaces)) add_interface(interface, facts, writer);
  for (const RdmaDevice& device : items(facts.rdma.devices)) add_rdma(device, facts, writer);
  for (const Gpu& gpu : items(facts.gpus.devices)) add_gpu(gpu, writer);
  for (const PciDevice& device : items(facts.pci)) add_pci(device, writer);
  const auto listed = [&](bool all, const char* kind) {
    if (all) table.kinds.emplace_back(kind);
  };
  listed(facts.system.storage.nvme.ok(), "NVMe drive");
  listed(facts.net.interfaces.ok(), "interface");
  listed(facts.rdma.devices.ok(), "RDMA device");
  listed(facts.gpus.devices.ok(), "GPU");
  listed(facts.pci.ok(), "PCI device");
  return table;
}

std::vector<FactChange> take_changes(FactTable& known, FactTable now) {
  std::vector<FactChange> changes;
  for (const auto& [what, fact] : now.facts) {
    const auto before = known.facts.find(what);
    if (before != known.facts.end()) {
      if (before->second.value != fact.value) changes.push_back(change_of(what, before->second.value, fact));
    } else if (!fact.kind.empty() && lists(known, fact.kind)) {
      changes.push_back(change_of(what, std::string(kNotThere), fact));
    }
  }
  for (auto& [what, fact] : known.facts) {
    if (now.facts.contains(what)) continue;
    if (!fact.kind.empty() && fact.value == kThere && lists(now, fact.kind)) {
      fact.value = kNotThere;
      changes.push_back(change_of(what, std::string(kThere), fact));
    }
    // This includes a device that is gone: it may come back with another firmware.
    if (now.facts.size() < kMostFacts) now.facts.emplace(what, fact);
  }
  for (const std::string& kind : known.kinds)
    if (!lists(now, kind)) now.kinds.push_back(kind);
  known = std::move(now);
  return changes;
}

}  // namespace railbed

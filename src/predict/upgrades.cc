// A node is bound by the lowest of three limits: its ports, the PCIe links of their adapters, and, if
// adapters cannot reach GPU memory, the staging of all data through host memory. Each upgrade changes one of
// them, and its gain goes only up to the next limit. So it is often less than the part promises.
#include "predict/upgrades.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/ceilings.h"
#include "hardware/gpudirect.h"
#include "hardware/network_ceiling.h"
#include "hardware/nic.h"
#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr int kAssumedMtu = 4096;
constexpr double kAdapterWatts = 25;
constexpr double kCableWatts = 0.1;
constexpr double kSwitchWatts = 150;
constexpr std::string_view kWattsSource =
    "typical of such parts; general knowledge, to check in its data sheet";

void add_ports(NodePath& path, const RdmaDevice& device) {
  const NicModel* nic = nic_of(device);
  for (const RdmaPort& port : items(device.ports)) {
    if (port.state.value_or("") != "ACTIVE" || !port.rate) continue;
    const bool ethernet = port.link_layer.value_or("") == "Ethernet";
    const int mtu = path_mtu_of(device, port);
    const double part =
        wire_efficiency(ethernet ? Wire::kRoceV2Ipv4 : Wire::kInfiniband, mtu > 0 ? mtu : kAssumedMtu);
    ++path.ports;
    path.port.bits_per_second += data_rate(port).bits_per_second * part;
    if (nic == nullptr) continue;
    const BitRate most = ethernet ? nic->ethernet : nic->infiniband;
    path.port_most.bits_per_second += std::max(most, *port.rate).bits_per_second * part;
    path.adapter = nic->name;
  }
}

// Sums the links by slot, because the functions of one slot share its link.
void add_slots(NodePath& path, const Facts& facts) {
  std::map<std::string, std::pair<BitRate, BitRate>> slots;
  for (const RdmaDevice& device : items(facts.rdma.devices)) {
    const bool used = std::ranges::any_of(
        items(device.ports), [](const RdmaPort& port) { return port.state.value_or("") == "ACTIVE"; });
    if (!used) continue;
    const std::string address = device.pci_address.value_or("");
    const auto now = pcie_limit(items(facts.pci), address, "");
    if (!now) return;
    const PciDevice* own = find_pci(items(facts.pci), address);
    const BitRate most = own != nullptr && own->link_max ? pcie_rate(*own->link_max) : now->rate;
    slots[address.substr(0, address.rfind('.'))] = {now->rate, std::max(most, now->rate)};
  }
  if (slots.empty()) return;
  path.slots = BitRate{};
  for (const auto& [slot, rates] : slots) {
    path.slots->bits_per_second += rates.first.bits_per_second;
    path.slots_most.bits_per_second += rates.second.bits_per_second;
  }
}

void add_staging(NodePath& path, const Facts& facts) {
  path.gpus = !items(facts.gpus.devices).empty();
  if (!path.gpus) return;
  for (const RdmaDevice& device : items(facts.rdma.devices))
    if (const NicModel* nic = nic_of(device); nic != nullptr && path.staged.empty())
      path.staged = why_adapter_cannot(facts, *nic);
  if (!path.staged.empty()) return;
  if (path.staged = why_no_gpu_can(facts); !path.staged.empty()) return;
  const GpuDirectRoutes routes = gpudirect_routes(facts);
  if (routes.any()) return;
  path.staged = routes.no_dma_buf;
  const GpuDirectRow& row = gpudirect_remedy(facts);
  if (row.possible) path.software = row.text;
}

Upgrade changed(const NodePath& path, std::string name, std::string why) {
  Upgrade upgrade{std::move(name), std::move(why), {}, "", {}};
  const auto limits = limits_of(path);
  upgrade.after = limits.front().rate;
  upgrade.binds = limits.front().name;
  return upgrade;
}

class Adviser {
 public:
  Adviser(const NodePath& path, const PriceList& prices) : path_(path), prices_(prices) {}

  std::vector<Upgrade> upgrades() {
    if (!path_.staged.empty()) add_gpudirect();
    if (path_.slots && *path_.slots < path_.slots_most) add_slot();
    if (path_.port < path_.port_most) add_cables();
    add_rail();
    add_switch();
    add_storage_network();
    std::ranges::stable_sort(all_, std::ranges::greater{},
                             [](const Upgrade& upgrade) { return upgrade.after.bits_per_second; });
    return std::move(all_);
  }

 private:
  UpgradePart part(UpgradePartKind kind, std::string what, int quantity, double watts) const {
    UpgradePart part{kind, std::move(what), quantity, quantity * watts, std::string(kWattsSource), {}};
    if (const auto price = prices_.price_of(kind)) part.price = quantity * *price;
    return part;
  }

  void add_gpudirect() {
    NodePath path = path_;
    path.staged.clear();
    if (!path_.software.empty()) {
      all_.push_back(changed(path, "GPUDirect RDMA, by software", path_.software));
      return;
    }
    Upgrade upgrade = changed(path, "adapter with GPUDirect RDMA", "now: " + path_.staged);
    upgrade.parts = {
        part(UpgradePartKind::kAdapter, "ConnectX-4 or later, as many ports and as fast", 1, kAdapterWatts)};
    all_.push_back(std::move(upgrade));
  }

  void add_slot() {
    NodePath path = path_;
    path.slots = path_.slots_most;
    all_.push_back(changed(path, "wider PCIe slot",
                           fmt::format("the adapters themselves can do {}; their slots give {}",
                                       to_text(path_.slots_most), to_text(*path_.slots))));
  }

  void add_cables() {
    NodePath path = path_;
    path.port = path_.port_most;
    Upgrade upgrade = changed(path, "faster cables",
                              fmt::format("{} can do {} over the same ports, if what is at the other end can",
                                          path_.adapter, to_text(path_.port_most)));
    upgrade.parts = {part(UpgradePartKind::kCable, "cable of the adapter's speed", path_.ports, kCableWatts)};
    all_.push_back(std::move(upgrade));
  }

  void add_rail() {
    NodePath path = path_;
    path.port = path_.port * 2;
    if (path_.slots) path.slots = *path_.slots * 2;
    Upgrade upgrade =
        changed(path, "second rail", "another adapter like it in a slot of its own, on subnets of its own");
    upgrade.parts = {part(UpgradePartKind::kAdapter, "adapter like the first", 1, kAdapterWatts),
                     part(UpgradePartKind::kCable, "cable", path_.ports, kCableWatts)};
    all_.push_back(std::move(upgrade));
  }

  void add_switch() {
    Upgrade upgrade =
        changed(path_, "switch", "no bandwidth for two nodes: room for more; railbed advise switch");
    upgrade.parts = {part(UpgradePartKind::kSwitch, "switch, for all nodes together", 1, kSwitchWatts)};
    all_.push_back(std::move(upgrade));
  }

  void add_storage_network() {
    Upgrade upgrade =
        changed(path_, "separate storage network",
                "no more than now, but always: reads and checkpoints take none of it while GPUs "
                "wait; what they take today, railbed bench storage and bench rdma together show");
    upgrade.parts = {
        part(UpgradePartKind::kAdapter, "adapter for storage; an old one does", 1, kAdapterWatts),
        part(UpgradePartKind::kCable, "cable", 1, kCableWatts)};
    all_.push_back(std::move(upgrade));
  }

  const NodePath& path_;
  const PriceList& prices_;
  std::vector<Upgrade> all_;
};

NodeUpgrades upgrades_of(const NodePath& path, const PriceList& prices) {
  NodeUpgrades result;
  result.limits = limits_of(path);
  if (result.limits.empty())
    result.note = "no RDMA port is active, so nothing can be computed; railbed verify says why";
  else
    result.upgrades = Adviser(path, prices).upgrades();
  return result;
}

bool alike(const NodeUpgrades& a, const NodeUpgrades& b) {
  return std::ranges::equal(a.limits, b.limits, {}, &Limit::rate, &Limit::rate) &&
         std::ranges::equal(a.upgrades, b.upgrades, {}, &Upgrade::why, &Upgrade::why) &&
         std::ranges::equal(a.upgrades, b.upgrades, {}, &Upgrade::after, &Upgrade::after);
}

}  // namespace

NodePath node_path_of(const Facts& facts) {
  NodePath path;
  for (const RdmaDevice& device : items(facts.rdma.devices)) add_ports(path, device);
  add_slots(path, facts);
  add_staging(path, facts);
  return path;
}

std::vector<Limit> limits_of(const NodePath& path) {
  if (path.ports == 0) return {};
  std::vector<Limit> limits = {
      {path.ports == 1 ? "the network port" : fmt::format("{} network ports", path.ports), path.port,
       "the ports' rates, less packet headers"}};
  if (path.slots)
    limits.push_back({"PCIe slots of the adapters", *path.slots, "the links' widths and speeds"});
  std::ranges::stable_sort(limits, {}, &Limit::rate);
  if (!path.staged.empty())
    limits.insert(limits.begin(),
                  {"staging through host memory", limits.front().rate * kStagedShare,
                   "2.0 of 4.55 GB/s, the V100 guide's measurement, of what else would bind"});
  return limits;
}

std::vector<NodeUpgrades> advise_upgrades(const std::map<std::string, Facts>& nodes,
                                          const PriceList& prices) {
  std::vector<NodeUpgrades> all;
  for (const auto& [name, facts] : nodes) {
    NodeUpgrades upgrades = upgrades_of(node_path_of(facts), prices);
    const auto same =
        std::ranges::find_if(all, [&](const NodeUpgrades& other) { return alike(upgrades, other); });
    if (same != all.end()) {
      same->nodes.push_back(name);
      continue;
    }
    upgrades.nodes = {name};
    all.push_back(std::move(upgrades));
  }
  return all;
}

}  // namespace railbed

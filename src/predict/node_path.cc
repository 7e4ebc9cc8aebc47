#include "predict/node_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hardware/ceilings.h"
#include "hardware/gpu_product.h"
#include "hardware/gpudirect.h"
#include "hardware/network_ceiling.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/pci_path.h"
#include "hardware/spark.h"
#include "model/part_speed.h"
#include "nccl/choice.h"
#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr int kUsualPathMtu = 4096;
constexpr int kMostPathMtu = 4096;  // IBTA, Architecture Specification: the largest path MTU
// NCCL's rate on the machine of the V100 guide.
constexpr BitRate kGuideStaged = BitRate::gigabytes(2.0);

// --- which ports are rails ---

struct PortAt {
  const RdmaDevice* device = nullptr;
  const RdmaPort* port = nullptr;
  const NetInterface* interface = nullptr;  // null if none is known
  const Rail* rail = nullptr;               // null without rails in cluster.yaml
  std::string name() const { return fmt::format("{}/{}", device->name, port->number); }
  std::string address() const { return device->pci_address.value_or(""); }
};

bool has_rails(const Cluster& cluster, const std::string& node) {
  return std::ranges::any_of(cluster.rails, [&](const Rail& rail) {
    return rail.purpose == RailPurpose::kCompute && find_port(rail, node) != nullptr;
  });
}

class RailChooser {
 public:
  RailChooser(const Cluster& cluster, const Facts& facts, const std::string& node)
      : cluster_(cluster), facts_(facts), node_(node) {
    for (const RdmaDevice& device : items(facts.rdma.devices))
      for (const RdmaPort& port : items(device.ports))
        if (port.state.value_or("") == "ACTIVE" && port.rate)
          active_.push_back({&device, &port, nullptr, nullptr});
    for (const NetInterface& interface : items(facts.net.interfaces)) {
      const RdmaPortRef ref = rdma_port_of(facts.rdma, facts.net, interface.name);
      for (PortAt& at : active_)
        if (at.device == ref.device && at.port == ref.port &&
            (at.interface == nullptr || interface.pci_address.ok()))
          at.interface = &interface;
    }
  }

  std::vector<PortAt> rails() {
    drop([](const PortAt& at) { return at.device->management.value_or(false); },
         [](const PortAt&) { return "it manages NVSwitches"; }, false);
    drop([&](const PortAt& at) { return is_for_storage(at); },
         [](const PortAt&) { return "cluster.yaml keeps it for storage"; }, false);
    if (has_rails(cluster_, node_)) {
      keep_named();
    } else {
      keep_what_nccl_takes();
      drop([&](const PortAt& at) { return in_bond(at); },
           [](const PortAt&) { return "part of a bond, which carries a node's other traffic"; });
      drop(
          [&](const PortAt& at) {
            return at.interface != nullptr && has_default_route(facts_.net, at.interface->name);
          },
          [](const PortAt&) { return "carries the default route"; });
      keep_near();
      keep_fast();
    }
    return std::move(active_);
  }
  std::vector<LeftOutPort> left_out() { return std::move(left_out_); }

 private:
  // Leaves out the ports that match. If all would go, none does, unless `spare_one` is false.
  template <class Matches, class Why>
  void drop(Matches matches, Why why, bool spare_one = true) {
    if (spare_one && std::ranges::all_of(active_, matches)) return;
    for (const PortAt& at : active_)
      if (matches(at)) left_out_.push_back({at.name(), std::string(why(at))});
    std::erase_if(active_, matches);
  }

  void keep_named() {
    for (const Rail& rail : cluster_.rails) {
      const RailPort* end = find_port(rail, node_);
      if (end == nullptr || rail.fabric == Fabric::kEthernet) continue;
      const RdmaPortRef ref = rdma_port_of(facts_.rdma, facts_.net, end->interface);
      for (PortAt& at : active_)
        if (at.device == ref.device && at.port == ref.port) at.rail = &rail;
    }
    drop([](const PortAt& at) { return at.rail == nullptr; },
         [](const PortAt&) { return "no rail of cluster.yaml"; }, false);
  }

  bool is_for_storage(const PortAt& at) const {
    return std::ranges::any_of(cluster_.rails, [&](const Rail& rail) {
      const RailPort* const end = rail.purpose == RailPurpose::kStorage ? find_port(rail, node_) : nullptr;
      if (end == nullptr) return false;
      const RdmaPortRef ref = rdma_port_of(facts_.rdma, facts_.net, end->interface);
      return at.device == ref.device && at.port == ref.port;
    });
  }

  void keep_what_nccl_takes() {
    const nccl::Choices choices = nccl::predict(facts_, std::nullopt);
    const auto choice_of = [&](const PortAt& at) {
      return std::ranges::find_if(choices.ports, [&](const nccl::PortChoice& choice) {
        return choice.device == at.device->name && choice.port == at.port->number;
      });
    };
    drop(
        [&](const PortAt& at) {
          const auto choice = choice_of(at);
          return choice != choices.ports.end() && !choice->used;
        },
        [&](const PortAt& at) { return choice_of(at)->why; });
  }

  bool in_bond(const PortAt& at) const {
    return at.interface != nullptr && (at.interface->master.ok() || at.interface->bond_mode.ok());
  }

  // Leaves out ports without a GPU below their PCIe switch, if others have one.
  void keep_near() {
    const auto& devices = items(facts_.pci);
    const auto is_near = [&](const PortAt& at) {
      const PciDevice* own = find_pci(devices, at.address());
      return own != nullptr && std::ranges::any_of(devices, [&](const PciDevice& gpu) {
               return is_gpu(gpu) && path_between(devices, *own, gpu) <= PathClass::kPxb;
             });
    };
    if (std::ranges::none_of(active_, is_near)) return;
    drop([&](const PortAt& at) { return !is_near(at); },
         [](const PortAt&) {
           return "no GPU is below its PCIe switch, as with the rails: storage or other traffic";
         });
  }

  void keep_fast() {
    BitRate fastest;
    for (const PortAt& at : active_) fastest = std::max(fastest, *at.port->rate);
    drop([&](const PortAt& at) { return *at.port->rate < fastest; },
         [&](const PortAt& at) {
           return fmt::format("{}, and the rails have {}: storage or other traffic", to_text(*at.port->rate),
                              to_text(fastest));
         });
  }

  const Cluster& cluster_;
  const Facts& facts_;
  const std::string& node_;
  std::vector<PortAt> active_;
  std::vector<LeftOutPort> left_out_;
};

// --- what the parts can do ---

const AdapterModel* adapter_part(const Cluster& cluster, const std::string& node) {
  const AdapterModel* found = nullptr;
  for (const ClusterPart& part : cluster.parts) {
    if (part.kind != PartKind::kAdapter || !is_on_node(part, node)) continue;
    if (found != nullptr) return nullptr;  // several: no telling which port is on which
    found = find_adapter_model(part.model);
    if (found == nullptr) return nullptr;
  }
  return found;
}

std::optional<BitRate> cable_of(const Cluster& cluster, const Rail& rail) {
  std::optional<BitRate> slowest;
  for (const ClusterPart& part : cluster.parts) {
    if (part.kind != PartKind::kCable || !is_on_rail(part, rail.name)) continue;
    const auto speed = cable_speed(part);
    if (speed && (!slowest || *speed < *slowest)) slowest = speed;
  }
  return slowest;
}

struct AdapterMost {
  BitRate rate;  // zero: not known
  bool variant_known = false;
};
AdapterMost adapter_most(const NicModel* nic, const AdapterModel* part, bool ethernet) {
  if (part != nullptr && nic != nullptr && part->nic == nic->name)
    return {ethernet ? part->ethernet : part->infiniband, true};
  if (nic == nullptr) return {};
  return {ethernet ? nic->ethernet : nic->infiniband, false};
}

class OtherEndFinder {
 public:
  OtherEndFinder(const Cluster& cluster, const std::map<std::string, Facts>& nodes, const std::string& node)
      : cluster_(cluster), nodes_(nodes), node_(node) {}

  void find(const PortAt& at, const Facts& facts, RailCable& cable) const {
    if (at.rail != nullptr && at.rail->topology == Topology::kBackToBack)
      return find_node_end(*at.rail, cable);
    if (at.rail != nullptr) {
      cable.other = OtherEnd::kSwitch;
      for (const ClusterPart& part : cluster_.parts)
        if (part.kind == PartKind::kSwitch && is_on_rail(part, at.rail->name)) take_switch(part, cable);
    }
    if (at.interface != nullptr && !cable.other_most) find_neighbour(facts, at.interface->name, cable);
    if (at.interface == nullptr || cable.other_most) return;
    const auto& modes = at.interface->modes;
    if (modes.ok() && modes->autonegotiates && modes->peer_mbps > 0)
      cable.other_most = BitRate::gigabits(modes->peer_mbps / 1e3);
  }

 private:
  void take_switch(const ClusterPart& part, RailCable& cable) const {
    const auto speed = switch_speed(part);
    cable.other = OtherEnd::kSwitch;
    if (!speed || (cable.other_most && *cable.other_most <= *speed)) return;
    cable.other_most = speed;
    cable.other_name = fmt::format("switch {}", part.model);
  }

  void find_neighbour(const Facts& facts, const std::string& interface, RailCable& cable) const {
    for (const LldpNeighbour& neighbour : items(facts.net.lldp)) {
      if (neighbour.interface != interface || neighbour.name.empty()) continue;
      for (const ClusterPart& part : cluster_.parts)
        if (part.kind == PartKind::kSwitch && part.name == neighbour.name) return take_switch(part, cable);
      const SwitchModel* model = find_switch_model(neighbour.name);
      if (model == nullptr) continue;
      cable.other = OtherEnd::kSwitch;
      cable.other_most = model->speed;
      cable.other_name = fmt::format("switch {}, by its name a {}", neighbour.name, model->name);
    }
  }

  void find_node_end(const Rail& rail, RailCable& cable) const {
    cable.other = OtherEnd::kNode;
    for (const RailPort& end : rail.ports) {
      if (end.node == node_) continue;
      const auto facts = nodes_.find(end.node);
      cable.other_name = end.node;
      if (facts == nodes_.end()) continue;
      const RdmaPortRef ref = rdma_port_of(facts->second.rdma, facts->second.net, end.interface);
      const NicModel* nic = ref.device == nullptr ? nullptr : nic_of(*ref.device);
      if (nic == nullptr) continue;
      const AdapterMost most = adapter_most(nic, adapter_part(cluster_, end.node), cable.ethernet);
      if (most.rate.bits_per_second > 0) cable.other_most = most.rate;
      cable.other_name = fmt::format("{}'s {}", end.node, nic->name);
    }
  }

  const Cluster& cluster_;
  const std::map<std::string, Facts>& nodes_;
  const std::string& node_;
};

RailSlot slot_at(const Facts& facts, const std::string& address) {
  RailSlot slot;
  slot.address = pci_slot_of(address);
  const auto& devices = items(facts.pci);
  if (const auto now = pcie_limit(devices, address, "")) slot.rate = now->rate;
  const PciDevice* own = find_pci(devices, address);
  if (own == nullptr) return slot;
  if (own->link_now) slot.now = *own->link_now;
  if (own->link_max) slot.card = *own->link_max;
  const PciDevice* above = find_pci(devices, own->parent.value_or(""));
  if (above == nullptr) return slot;
  if (above->link_max) slot.slot = *above->link_max;
  if (above->parent.ok())
    if (const auto limit = pcie_limit(devices, *above->parent, "")) slot.above = limit->rate;
  return slot;
}

bool shares_memory(const Facts& facts) {
  return std::ranges::any_of(items(facts.pci), is_spark_gpu) ||
         std::ranges::any_of(items(facts.gpus.devices), [](const Gpu& gpu) {
           const GpuProduct* product = find_gpu_product(gpu.model.value_or(""));
           return product != nullptr && product->market == GpuMarket::kUnified;
         });
}

class PathBuilder {
 public:
  PathBuilder(const Cluster& cluster, const std::map<std::string, Facts>& nodes, const std::string& node)
      : cluster_(cluster), facts_(nodes.at(node)), node_(node), others_(cluster, nodes, node) {}

  NodePath build() {
    RailChooser chooser(cluster_, facts_, node_);
    rails_ = chooser.rails();
    path_.left_out = chooser.left_out();
    for (const PortAt& at : rails_) add_port(at);
    for (RailCard& card : path_.cards) count_idle(card);
    add_unused_halves();
    add_staging();
    return std::move(path_);
  }

 private:
  bool is_spark() const { return std::ranges::any_of(items(facts_.pci), is_spark_gpu); }

  // A GB10's adapter is one card with two slots.
  RailCard& card_of(const PortAt& at) {
    const std::string slot(pci_slot_of(at.address()));
    for (RailCard& card : path_.cards)
      if (is_spark() || std::ranges::find(card.slots, slot, &RailSlot::address) != card.slots.end())
        return card;
    RailCard& card = path_.cards.emplace_back();
    card.nic = nic_of(*at.device);
    if (card.nic != nullptr) card.name = card.nic->name;
    const AdapterModel* part = adapter_part(cluster_, node_);
    if (part != nullptr && card.nic != nullptr && part->nic == card.nic->name) card.part = part;
    return card;
  }

  void add_port(const PortAt& at) {
    RailCard& card = card_of(at);
    const std::string slot(pci_slot_of(at.address()));
    if (std::ranges::find(card.slots, slot, &RailSlot::address) == card.slots.end())
      card.slots.push_back(slot_at(facts_, at.address()));
    const std::string interface = at.interface == nullptr ? "" : at.interface->name;
    const bool counted = std::ranges::any_of(card.cables, [&](const RailCable& other) {
      return share_spark_cable(facts_, interface, other.interface);
    });
    if (counted) return;
    RailCable cable;
    cable.port = at.name();
    cable.interface = interface;
    cable.ethernet = at.port->link_layer.value_or("") == "Ethernet";
    cable.mtu = path_mtu_of(*at.device, *at.port);
    cable.mtu_most = card.nic == nullptr || !cable.ethernet ? kMostPathMtu : card.nic->roce_path_mtu;
    cable.rate = *at.port->rate;
    const AdapterMost most = adapter_most(card.nic, card.part, cable.ethernet);
    // A model's most is not that of a soldered variant, which has what its ports show.
    cable.adapter_most = is_spark() ? cable.rate : std::max(most.rate, cable.rate);
    cable.variant_known = most.variant_known || is_spark();
    if (at.rail != nullptr) cable.cable = cable_of(cluster_, *at.rail);
    others_.find(at, facts_, cable);
    card.cables.push_back(std::move(cable));
  }

  void count_idle(RailCard& card) const {
    if (is_spark()) return;
    for (const RdmaDevice& device : items(facts_.rdma.devices)) {
      const std::string slot(pci_slot_of(device.pci_address.value_or("")));
      if (std::ranges::find(card.slots, slot, &RailSlot::address) == card.slots.end()) continue;
      for (const RdmaPort& port : items(device.ports))
        card.idle_ports += port.state.value_or("ACTIVE") != "ACTIVE" ? 1 : 0;
    }
  }

  void add_unused_halves() {
    if (!is_spark()) return;
    for (RailCard& card : path_.cards)
      for (const RailCable& cable : card.cables)
        for (const NetInterface& interface : items(facts_.net.interfaces)) {
          const bool used = std::ranges::any_of(rails_, [&](const PortAt& at) {
            return at.interface != nullptr && at.interface->name == interface.name;
          });
          if (!used && share_spark_cable(facts_, interface.name, cable.interface))
            card.unused_halves.push_back(interface.name);
        }
  }

  void add_staging() {
    if (items(facts_.gpus.devices).empty() || shares_memory(facts_)) return;
    for (const RailCard& card : path_.cards)
      if (card.nic != nullptr && path_.staged.empty()) path_.staged = why_adapter_cannot(facts_, *card.nic);
    const bool by_adapter = !path_.staged.empty();
    if (path_.staged.empty()) path_.staged = why_no_gpu_can(facts_);
    if (!path_.staged.empty()) {
      const Gpu& gpu = items(facts_.gpus.devices).front();
      path_.staged_as_measured = by_adapter && path_.cards.front().name.starts_with("ConnectX-3") &&
                                 gpu.model.value_or("").find("V100-PCIE") != std::string::npos;
      return;
    }
    const GpuDirectRoutes routes = gpudirect_routes(facts_);
    if (routes.any()) return;
    path_.staged = routes.no_dma_buf;
    const GpuDirectRow& row = gpudirect_remedy(facts_);
    if (row.possible) path_.software = row.text;
  }

  const Cluster& cluster_;
  const Facts& facts_;
  const std::string& node_;
  OtherEndFinder others_;
  std::vector<PortAt> rails_;
  NodePath path_;
};

BitRate payload_of(const RailCable& cable) {
  const BitRate data = cable.ethernet ? cable.rate : infiniband_data_rate(cable.rate);
  return data * wire_efficiency(cable.ethernet ? Wire::kRoceV2Ipv4 : Wire::kInfiniband,
                                cable.mtu > 0 ? cable.mtu : kUsualPathMtu);
}

}  // namespace

NodePath node_path_of(const Cluster& cluster, const std::map<std::string, Facts>& nodes,
                      const std::string& node) {
  return PathBuilder(cluster, nodes, node).build();
}

// A card lets through what its cables do, or its slots if that is less. The slots' limit of a node counts each card
// at the lower of both, so that one narrow slot among eight is seen.
std::vector<NodeLimit> limits_of(const NodePath& path) {
  BitRate wire;
  BitRate slots;
  BitRate both;
  std::size_t ports = 0;
  bool narrow = false;
  bool slots_known = true;
  for (const RailCard& card : path.cards) {
    BitRate cables;
    BitRate links;
    for (const RailCable& cable : card.cables) cables.bits_per_second += payload_of(cable).bits_per_second;
    bool known = !card.slots.empty();
    for (const RailSlot& slot : card.slots) {
      known = known && slot.rate.has_value();
      if (slot.rate) links.bits_per_second += slot.rate->bits_per_second;
    }
    ports += card.cables.size();
    slots_known = slots_known && known;
    narrow = narrow || (known && links < cables);
    wire.bits_per_second += cables.bits_per_second;
    slots.bits_per_second += links.bits_per_second;
    both.bits_per_second += known ? std::min(cables, links).bits_per_second : cables.bits_per_second;
  }
  if (ports == 0) return {};
  std::vector<NodeLimit> limits = {{ports == 1 ? "the network port" : fmt::format("{} network ports", ports),
                                    wire, wire, "the ports' rates, less coding and packet headers"}};
  if (slots_known || narrow) {
    const BitRate rate = narrow ? both : slots;
    limits.push_back({"PCIe slots of the adapters", rate, rate,
                      narrow && slots >= wire ? "the narrow slots', and the ports' of the other cards"
                                              : "the links' widths and speeds"});
  }
  std::ranges::stable_sort(limits, {}, &NodeLimit::rate);
  if (path.staged.empty()) return limits;
  const BitRate rest = limits.front().rate;
  NodeLimit staging{
      "staging through host memory", rest * kStagedShare, rest,
      "44 % of what else binds on the one machine that was measured (V100 guide); not known for this one"};
  if (path.staged_as_measured) {
    staging.most = std::max(kGuideStaged, rest * kStagedShare);
    staging.rate = std::min(kGuideStaged, staging.most);
    staging.source = "2.0 GB/s was measured on such a machine, 44 % of the wire (V100 guide)";
  }
  limits.insert(limits.begin(), staging);
  return limits;
}

}  // namespace railbed

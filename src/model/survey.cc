#include "model/survey.h"

#include <algorithm>
#include <unordered_map>

#include "base/parallel.h"

namespace railbed {
namespace {

const std::vector<PciDevice> kNoDevices;
const Expectations kNoExpectations;

bool has_address(const NetInterface& interface) {
  return interface.addresses.ok() &&
         std::ranges::any_of(*interface.addresses, [](const InterfaceAddress& address) {
           return !address.address.is_link_local();
         });
}

bool is_adapter(const PciDevice& device) {
  return is_network(device) && device.vendor.value_or(0) == kVendorMellanox &&
         !device.virtual_function.value_or(false);
}

RailEnd make_end(const NodeView& node, const Rail* rail, const RailPort* port, std::string name) {
  RailEnd end{.node = node.name, .facts = node.facts, .rail = rail, .port = port, .name = std::move(name)};
  end.interface = find_interface(node.facts->net, end.name);
  end.rdma = rdma_port_of(node.facts->rdma, node.facts->net, end.name);
  end.touches.add("netdev:" + end.name);
  if (rail != nullptr) end.touches.add("rail:" + rail->name);
  if (end.rdma) end.touches.add("rdma:" + end.rdma_name());
  const NetInterface* carrier = carrier_of(node.facts->net, end.name);
  if (carrier != nullptr && carrier->pci_address.ok()) {
    end.touches.add("pci:" + *carrier->pci_address);
    end.adapter = find_pci(node.pci(), *carrier->pci_address);
  }
  if (end.adapter != nullptr) end.model = find_nic(*end.adapter, node.pci());
  return end;
}

// One node's part of cluster.yaml, collected once for all nodes instead of walking all ports of all rails for
// each.
struct Wanted {
  const Node* node = nullptr;
  std::vector<std::pair<const Rail*, const RailPort*>> ports = {};
};

std::unordered_map<std::string_view, Wanted> by_node(const Cluster& cluster) {
  std::unordered_map<std::string_view, Wanted> wanted;
  wanted.reserve(cluster.nodes.size());
  for (const Node& node : cluster.nodes) wanted[node.name].node = &node;
  for (const Rail& rail : cluster.rails)
    for (const RailPort& port : rail.ports) wanted[port.node].ports.emplace_back(&rail, &port);
  return wanted;
}

void add_ends(NodeView& node, const Cluster& cluster, const Wanted& wanted) {
  for (const auto& [rail, port] : wanted.ports)
    node.ends.push_back(make_end(node, rail, port, port->interface));
  if (!cluster.rails.empty() || !node.facts->net.interfaces.ok()) return;
  for (const NetInterface& interface : *node.facts->net.interfaces)
    if (has_address(interface) && rdma_port_of(node.facts->rdma, node.facts->net, interface.name))
      node.ends.push_back(make_end(node, nullptr, nullptr, interface.name));
}

// Returns true if the node has RDMA rails in two or more subnets: one does not carry the other's traffic.
bool has_separate_rails(const NodeView& node) {
  std::vector<const Rail*> rails;
  for (const RailEnd& end : node.ends)
    if (end.for_gpus() && end.rdma_rail() && end.rail->subnet &&
        std::ranges::none_of(rails, [&](const Rail* other) { return other->subnet == end.rail->subnet; }))
      rails.push_back(end.rail);
  return rails.size() > 1;
}

void look_at_nccl(NodeView& node) {
  const Expectations& expect = node.expect();
  const nccl::Expectation expected{.version = expect.nccl ? nccl::Version::parse(*expect.nccl) : std::nullopt,
                                   .traffic_class = expect.traffic_class,
                                   .separate_rails = has_separate_rails(node)};
  node.nccl_complaints = nccl::lint(*node.facts, expected);
  node.nccl_choices = nccl::predict(*node.facts, expected.version);
  node.nccl_variables = by_precedence(node.facts->nccl).size();
}

// Computed once per node: half of all findings touch one of these.
void name_touches(NodeView& node) {
  node.gpu_touches = {"gpus"};
  for (const PciDevice* gpu : node.gpus()) {
    node.gpu_touches.add("pci:" + gpu->address);
    node.pci_touches[gpu->address] = {"pci:" + gpu->address};
  }
  node.nccl_touches = {"nccl"};
  for (const RailEnd& end : node.ends) {
    if (end.rail != nullptr && end.for_gpus()) node.nccl_touches.add("rail:" + end.rail->name);
    if (end.adapter == nullptr) continue;
    Things& touches = node.pci_touches[end.adapter->address];
    if (touches.empty()) touches = {"pci:" + end.adapter->address};
    touches.add(end.touches);
  }
}

void look_at(NodeView& node, const Cluster& cluster, const Wanted& wanted) {
  node.wanted = wanted.node;
  add_ends(node, cluster, wanted);
  for (const PciDevice& device : node.pci()) {
    if (is_gpu(device)) node.gpus_on_pci.push_back(&device);
    if (is_adapter(device)) node.adapters_on_pci.push_back(&device);
  }
  for (const Gpu& gpu : items(node.facts->gpus.devices)) {
    const bool named = gpu.nvml && gpu.nvml->name;
    node.gpu_models.push_back(find_gpu_model(named ? *gpu.nvml->name : gpu.model.value_or("")));
  }
  name_touches(node);
  for (const Gpu& gpu : items(node.facts->gpus.devices))
    node.touches_of_gpus.push_back(node.touches_of(gpu.pci_address));
  look_at_nccl(node);
}

}  // namespace

bool RailEnd::infiniband() const {
  if (rail != nullptr) return rail->fabric == Fabric::kInfiniband;
  return rdma && rdma.port->link_layer.value_or("") == "InfiniBand";
}

std::string RailEnd::rdma_name() const { return rdma.device->name + "/" + std::to_string(rdma.port->number); }

std::string RailEnd::address_text() const {
  const int prefix = rail->subnet ? rail->subnet->prefix() : 24;
  return port->address->to_text() + "/" + std::to_string(prefix);
}

std::string RailEnd::where() const { return name + " of " + *node; }

std::string RailEnd::rdma_where() const { return rdma_name() + " of " + *node; }

bool NodeView::has_nvswitch() const {
  return items(facts->gpus.devices).size() >= 8 && std::ranges::all_of(gpu_models, [](const GpuModel* model) {
           return model != nullptr && model->nvswitch;
         });
}

bool NodeView::has_nvlink_manager() const {
  constexpr int kNvlink5 = 53125;  // MB/s of a link
  return has_nvswitch() && std::ranges::all_of(gpu_models, [](const GpuModel* model) {
           return model->nvlink_mbps >= kNvlink5 && !model->c2c;
         });
}

bool NodeView::needs_rdma() const {
  return !adapters().empty() || std::ranges::any_of(ends, &RailEnd::wants_rdma);
}

std::vector<const PciDevice*> NodeView::accelerators() const {
  std::vector<const PciDevice*> devices = gpus();
  devices.insert(devices.end(), adapters().begin(), adapters().end());
  return devices;
}

const Expectations& NodeView::expect() const { return wanted == nullptr ? kNoExpectations : wanted->expect; }

const std::vector<PciDevice>& NodeView::pci() const { return facts->pci.ok() ? *facts->pci : kNoDevices; }

Things NodeView::touches_of(const std::string& pci_address) const {
  const auto known = pci_touches.find(pci_address);
  return known == pci_touches.end() ? Things{"pci:" + pci_address} : known->second;
}

Survey::Survey(const Evidence& all) : evidence(all) {
  nodes.reserve(all.nodes.size());
  for (const auto& [name, facts] : all.nodes) nodes.push_back({.name = &name, .facts = &facts});
  const auto wanted = by_node(all.cluster);
  in_parallel(nodes.size(), nodes.size(), [&](std::size_t i) {
    static const Wanted kNothing;
    const auto found = wanted.find(*nodes[i].name);
    look_at(nodes[i], all.cluster, found == wanted.end() ? kNothing : found->second);
  });
  for (const NodeView& node : nodes)
    for (const RailEnd& end : node.ends) ends_[end.rail].push_back(&end);
}

const NodeView* Survey::find(std::string_view node) const {
  const auto found = std::ranges::lower_bound(nodes, node, {}, [](const NodeView& view) -> std::string_view {
    return *view.name;  // in the order of Evidence::nodes, a sorted map
  });
  return found != nodes.end() && *found->name == node ? &*found : nullptr;
}

const std::vector<const RailEnd*>& Survey::ends_of(const Rail& rail) const {
  static const std::vector<const RailEnd*> kNone;
  const auto found = ends_.find(&rail);
  return found == ends_.end() ? kNone : found->second;
}

const RailEnd* other_end(const Survey& survey, const RailEnd& end) {
  if (end.rail == nullptr || end.rail->topology != Topology::kBackToBack) return nullptr;
  const auto& ends = survey.ends_of(*end.rail);
  if (ends.size() != 2) return nullptr;
  return ends[0]->node == end.node ? ends[1] : ends[0];
}

const Service* find_service(const NodeView& node, std::initializer_list<std::string_view> names) {
  const Service* found = nullptr;
  for (const Service& service : items(node.facts->system.services)) {
    if (std::ranges::find(names, service.name) == names.end()) continue;
    if (service.load_state != "not-found") return &service;
    if (found == nullptr) found = &service;
  }
  return found;
}

bool is_loaded_unit(const NodeView& node, std::string_view name) {
  const Service* service = find_service(node, {name});
  return service != nullptr && service->load_state == "loaded";
}

bool is_enabled_unit(const NodeView& node, std::string_view name) {
  const Service* service = find_service(node, {name});
  return service != nullptr && service->unit_file_state == "enabled";
}

bool is_roce_v2(const Gid& gid) { return gid.type.value_or("") == "RoCE v2"; }

bool is_gid_of(const Gid& gid, const RailEnd& end) {
  return end.address() != nullptr && is_roce_v2(gid) && gid.gid.ok() && *gid.gid == *end.address();
}

bool module_present(const Facts& facts, std::string_view module) {
  const auto listed = [&](const Reading<std::vector<std::string>>& modules) {
    return modules.ok() && std::ranges::find(*modules, module) != modules->end();
  };
  return listed(facts.system.kernel.loaded_modules) || listed(facts.system.kernel.present_modules);
}

}  // namespace railbed

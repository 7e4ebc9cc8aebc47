#include "model/node_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/gpu_model.h"
#include "hardware/gpu_product.h"
#include "hardware/nic.h"
#include "hardware/part_model.h"
#include "hardware/pci_link.h"
#include "hardware/processor.h"

namespace railbed {
namespace {

// Makes the graph of one node from its facts.
class FactsGraph {
 public:
  FactsGraph(const Facts& facts, const Cluster* cluster) : facts_(facts), cluster_(cluster) {}

  NodeGraph make(const std::string& node) {
    graph_.node = node;
    graph_.source = "facts";
    for (const auto& device : items(facts_.pci))
      if (is_gpu(device)) add_gpu(device);
    for (const auto& device : items(facts_.pci))
      if (is_network(device)) add_adapter(device);
    return std::move(graph_);
  }

 private:
  std::optional<int> socket_of(const PciDevice& device) {
    const int numa = device.numa_node.value_or(-1);
    if (numa < 0) return std::nullopt;
    const auto found = std::ranges::find(graph_.sockets, numa, &GraphSocket::numa_node);
    if (found != graph_.sockets.end()) return static_cast<int>(found - graph_.sockets.begin());
    graph_.sockets.push_back({numa, facts_.system.cpu.model.value_or("")});
    return static_cast<int>(graph_.sockets.size()) - 1;
  }

  // Returns the place of a device, after adding the bridges above it.
  GraphPlace place_of(const PciDevice& device) {
    const auto path = path_to_root(items(facts_.pci), device);
    std::optional<int> above;
    for (auto hop = path.rbegin(); hop + 1 < path.rend(); ++hop) above = bridge_of(**hop, above);
    GraphPlace place = bare_place(device, above);
    const RealLink link = real_link(items(facts_.pci), device);
    place.link = link.at_work();
    if (place.link) place.possible = link.possible;
    return place;
  }

  GraphPlace bare_place(const PciDevice& device, std::optional<int> above) {
    GraphPlace place;
    place.bridge = above;
    place.placed = above.has_value() || device.parent.absent();
    place.socket = socket_of(device);
    place.max_payload = device.max_payload.to_optional();
    place.max_read_request = device.max_read_request.to_optional();
    return place;
  }

  // Returns the index of a bridge, which it adds the first time. A downstream port's link is that of what is below it,
  // so only an upstream port has one of its own here.
  int bridge_of(const PciDevice& device, std::optional<int> above) {
    const auto found = std::ranges::find(graph_.bridges, device.address, &GraphBridge::address);
    if (found != graph_.bridges.end()) return static_cast<int>(found - graph_.bridges.begin());
    GraphBridge bridge{device.address, bare_place(device, above), false, std::nullopt};
    if (device.acs_control.ok()) bridge.redirects_peers = redirects_peers(device);
    const bool below_port = above && !graph_.bridges[static_cast<std::size_t>(*above)].is_switch;
    if (below_port) {
      bridge.is_switch = true;
      const RealLink link = real_link(items(facts_.pci), device);
      bridge.up.link = link.at_work();
      if (bridge.up.link) bridge.up.possible = link.possible;
    }
    graph_.bridges.push_back(std::move(bridge));
    return static_cast<int>(graph_.bridges.size()) - 1;
  }

  void add_gpu(const PciDevice& device) {
    GraphGpu gpu;
    gpu.name = fmt::format("GPU{}", graph_.gpus.size());
    gpu.address = device.address;
    gpu.up = place_of(device);
    if (const Gpu* seen = find_gpu(facts_.gpus, device.address)) {
      gpu.model = seen->model.value_or(seen->nvml.ok() ? seen->nvml->name.value_or("") : "");
      if (seen->nvml.ok()) {
        gpu.memory = seen->nvml->memory.to_optional();
        gpu.mig = seen->nvml->mig.to_optional();
        if (seen->nvml->nvlinks.ok())
          gpu.nvlinks = static_cast<int>(std::ranges::count_if(
              *seen->nvml->nvlinks, [](const auto& link) { return link.second.active; }));
      }
      if (seen->cuda.ok()) gpu.gpudirect = seen->cuda->gpudirect_rdma;
    }
    if (const GpuModel* model = find_gpu_model(gpu.model)) {
      gpu.c2c = model->c2c;
      if (model->c2c) gpu.up.link = gpu.up.possible = std::nullopt;
    }
    if (const GpuProduct* product = find_gpu_product(gpu.model)) gpu.capability = product->capability;
    graph_.gpus.push_back(std::move(gpu));
  }

  void add_adapter(const PciDevice& device) {
    GraphAdapter adapter;
    adapter.address = device.address;
    const NicModel* model = find_nic(device, items(facts_.pci));
    if (model != nullptr) adapter.model = model->name;
    for (const RdmaDevice& rdma : items(facts_.rdma.devices)) {
      if (rdma.pci_address.value_or("") != device.address) continue;
      for (const RdmaPort& port : items(rdma.ports)) adapter.ports.push_back(port_of(rdma, port));
    }
    // Ethernet of a board, which no cluster uses, is not an adapter here.
    if (adapter.ports.empty() && model == nullptr) return;
    adapter.name = adapter.ports.empty() ? device.address : adapter.ports.front().name;
    adapter.up = place_of(device);
    graph_.adapters.push_back(std::move(adapter));
  }

  GraphPort port_of(const RdmaDevice& device, const RdmaPort& port) {
    GraphPort made;
    made.name = port.number == 1 ? device.name : fmt::format("{}/{}", device.name, port.number);
    made.rate = port.rate.to_optional();
    if (port.link_layer.ok()) made.infiniband = *port.link_layer == "InfiniBand";
    for (const NetInterface& interface : items(facts_.net.interfaces)) {
      const RdmaPortRef ref = rdma_port_of(facts_.rdma, facts_.net, interface.name);
      if (ref.port != &port) continue;
      made.interface = interface.name;
      if (cluster_ != nullptr) made.beyond = beyond(interface.name);
      if (!made.beyond.rail.empty()) break;
    }
    return made;
  }

  GraphBeyond beyond(std::string_view interface) const;

  const Facts& facts_;
  const Cluster* cluster_;
  NodeGraph graph_;
};

// Returns the way beyond a port of this rail, as cluster.yaml describes it.
GraphBeyond beyond_rail(const Cluster& cluster, const Rail& rail) {
  GraphBeyond beyond;
  beyond.rail = rail.name;
  beyond.topology = rail.topology;
  int switches = 0, cables = 0;
  for (const ClusterPart& part : cluster.parts) {
    if (!is_on_rail(part, rail.name)) continue;
    if (part.kind == PartKind::kSwitch && ++switches == 1) beyond.switch_name = part.name;
    if (part.kind == PartKind::kCable && ++cables == 1) beyond.metres = part.metres;
  }
  if (switches != 1) beyond.switch_name.clear();
  if (cables != 1) beyond.metres = std::nullopt;
  return beyond;
}

GraphBeyond FactsGraph::beyond(std::string_view interface) const {
  for (const Rail& rail : cluster_->rails)
    if (const RailPort* port = find_port(rail, graph_.node); port != nullptr && port->interface == interface)
      return beyond_rail(*cluster_, rail);
  return {};
}

// Returns the link that a card has in its slot: the lesser of the slot's, as the file has it, and of the card's own.
// Nullopt if the speed or the lanes do not follow from these.
std::optional<PcieLink> link_in_slot(const ClusterPart& part, std::optional<int> slot_generation,
                                     double card_speed, int card_lanes) {
  double speed = card_speed;
  if (slot_generation) {
    const double slot = pcie_gigatransfers(*slot_generation);
    speed = speed > 0 ? std::min(speed, slot) : slot;
  } else {
    speed = 0;  // the slot may be older than the card
  }
  const int lanes = part.lanes && card_lanes > 0 ? std::min(*part.lanes, card_lanes) : part.lanes.value_or(0);
  if (speed <= 0 || lanes <= 0) return std::nullopt;
  return PcieLink{speed, lanes};
}

GraphGpu gpu_of_part(const ClusterPart& part, std::optional<int> slot, std::string name) {
  const GpuModel* model = find_gpu_model(part.model);
  const GpuProduct* product = find_gpu_product(part.model);
  GraphGpu gpu;
  gpu.name = std::move(name);
  gpu.model = part.model;
  // GPUs of a board have no slot. The name of a card, "V100 PCIe", or its slot in the file shows that it is one.
  const bool card = part.model.find("PCIe") != std::string::npos || part.lanes || part.slot_watts;
  if (card)
    gpu.up.link = gpu.up.possible = link_in_slot(
        part, slot, model == nullptr ? 0 : pcie_gigatransfers(std::max(1, model->pcie_generation)), 16);
  if (model != nullptr) gpu.c2c = model->c2c;
  if (product != nullptr) gpu.capability = product->capability;
  if (product != nullptr && product->memory_gb > 0)
    gpu.memory = static_cast<std::uint64_t>(product->memory_gb) * 1'000'000'000;
  // A name without a form, "V100", may be that of a board with NVLink, too.
  if (card && product != nullptr && product->nvlink == NvlinkWay::kNone) gpu.nvlinks = 0;
  return gpu;
}

GraphAdapter adapter_of_part(const ClusterPart& part, std::optional<int> slot, std::string name) {
  const AdapterModel* sold = find_adapter_model(part.model);
  const NicModel* model = find_nic_named(sold == nullptr ? part.model : std::string(sold->nic));
  GraphAdapter adapter;
  adapter.name = std::move(name);
  adapter.model = part.model;
  if (model != nullptr)
    adapter.up.link = adapter.up.possible =
        link_in_slot(part, slot, model->pcie_gigatransfers, model->pcie_width);
  return adapter;
}

}  // namespace

NodeGraph graph_of_facts(const std::string& node, const Facts& facts, const Cluster* cluster) {
  return FactsGraph(facts, cluster).make(node);
}

std::optional<NodeGraph> graph_of_parts(const std::string& node, const Cluster& cluster) {
  constexpr int kMostParts = 64;  // of a kind in one node
  NodeGraph graph;
  graph.node = node;
  graph.source = "cluster.yaml";
  std::optional<int> generation;
  for (const ClusterPart& part : cluster.parts)
    if (part.kind == PartKind::kServer && is_on_node(part, node))
      generation = part.pcie ? part.pcie : pcie_generation(part.processor);
  for (const ClusterPart& part : cluster.parts) {
    if (!is_on_node(part, node)) continue;
    const std::optional<int> slot = part.pcie ? part.pcie : generation;
    const int quantity = std::min(part.quantity, kMostParts);
    if (part.kind == PartKind::kGpu)
      for (int i = 0; i < quantity; ++i)
        graph.gpus.push_back(gpu_of_part(part, slot, fmt::format("GPU{}", graph.gpus.size())));
    if (part.kind == PartKind::kAdapter)
      for (int i = 0; i < quantity; ++i)
        graph.adapters.push_back(
            adapter_of_part(part, slot, fmt::format("adapter{}", graph.adapters.size())));
  }
  if (graph.gpus.empty() && graph.adapters.empty()) return std::nullopt;
  // A rail has a port on the node. Which card it is on follows only if there is one.
  for (const Rail& rail : cluster.rails) {
    const RailPort* port = find_port(rail, node);
    if (port == nullptr || graph.adapters.size() != 1) continue;
    GraphPort made;
    made.name = made.interface = port->interface;
    made.rate = rail.speed;
    if (rail.fabric != Fabric::kEthernet) made.infiniband = rail.fabric == Fabric::kInfiniband;
    made.beyond = beyond_rail(cluster, rail);
    graph.adapters.front().ports.push_back(std::move(made));
  }
  return graph;
}

namespace {

// Returns the indexes of the bridges above a place, nearest first. A cycle, which no source should have, ends.
std::vector<int> bridges_above(const NodeGraph& graph, const GraphPlace& place) {
  std::vector<int> bridges;
  std::optional<int> next = place.bridge;
  while (next && *next >= 0 && static_cast<std::size_t>(*next) < graph.bridges.size() &&
         bridges.size() <= graph.bridges.size()) {
    bridges.push_back(*next);
    next = graph.bridges[static_cast<std::size_t>(*next)].up.bridge;
  }
  return bridges;
}

const GraphBridge& bridge_at(const NodeGraph& graph, int index) {
  return graph.bridges[static_cast<std::size_t>(index)];
}

// Returns how many switches are among the first bridges of a way, which the first `count` are.
std::ptrdiff_t switches_in(const NodeGraph& graph, const std::vector<int>& way, std::size_t count) {
  return std::count_if(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(count),
                       [&](int index) { return bridge_at(graph, index).is_switch; });
}

}  // namespace

std::optional<PathClass> distance(const NodeGraph& graph, const GraphPlace& a, const GraphPlace& b) {
  const auto above_a = bridges_above(graph, a), above_b = bridges_above(graph, b);
  for (std::size_t i = 0; i < above_a.size(); ++i) {
    const auto met = std::ranges::find(above_b, above_a[i]);
    if (met == above_b.end()) continue;
    // Switches that only one of them is below: each is one more on the way.
    const auto more = switches_in(graph, above_a, i) +
                      switches_in(graph, above_b, static_cast<std::size_t>(met - above_b.begin()));
    return more == 0 ? PathClass::kPix : PathClass::kPxb;
  }
  if (!a.placed || !b.placed || !a.socket || !b.socket) return std::nullopt;
  if (*a.socket != *b.socket) return PathClass::kSys;
  const auto bus = [&](const std::vector<int>& way) -> std::string_view {
    return way.empty() ? std::string_view() : pci_bus_of(bridge_at(graph, way.back()).address);
  };
  // Root ports on one bus belong to one host bridge. A file of NCCL's has no root ports.
  const bool root_ports = !above_a.empty() && !above_b.empty() && !bridge_at(graph, above_a.back()).is_switch;
  return !root_ports || bus(above_a) == bus(above_b) ? PathClass::kPhb : PathClass::kNode;
}

NearAdapters adapters_near(const NodeGraph& graph, std::size_t gpu) {
  NearAdapters near;
  if (gpu >= graph.gpus.size()) return near;
  constexpr int kUnknownDistance = 5;
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < graph.adapters.size(); ++i) {
    const auto path = distance(graph, graph.gpus[gpu].up, graph.adapters[i].up);
    order.emplace_back(path ? static_cast<int>(*path) : kUnknownDistance, i);
  }
  std::ranges::sort(order);
  for (const auto& [path, index] : order) {
    if (path <= static_cast<int>(PathClass::kPxb)) near.own_switch.push_back(index);
    if (path <= static_cast<int>(PathClass::kNode)) near.own_socket.push_back(index);
    near.all.push_back(index);
  }
  return near;
}

std::vector<const GraphPlace*> links_to_memory(const NodeGraph& graph, const GraphPlace& from) {
  std::vector<const GraphPlace*> links{&from};
  for (const int index : bridges_above(graph, from))
    if (bridge_at(graph, index).is_switch) links.push_back(&bridge_at(graph, index).up);
  return links;
}

std::vector<const GraphPlace*> links_between(const NodeGraph& graph, const GraphPlace& from,
                                             const GraphPlace& to) {
  auto up = links_to_memory(graph, from), down = links_to_memory(graph, to);
  // Both ways end with the links that they share, which data that turns below them does not pass.
  const auto above_from = bridges_above(graph, from), above_to = bridges_above(graph, to);
  const bool meet = std::ranges::find_first_of(above_from, above_to) != above_from.end();
  while (meet && up.size() > 1 && down.size() > 1 && up.back() == down.back()) {
    up.pop_back();
    down.pop_back();
  }
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

}  // namespace railbed

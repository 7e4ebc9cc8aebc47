#include "report/picture/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "hardware/ceilings.h"
#include "report/paths.h"
#include "report/troubles.h"

namespace railbed {
namespace {

std::string attach_of(const Facts& facts, const std::string& address) {
  const PciDevice* device = find_pci(items(facts.pci), address);
  if (device == nullptr || !device->link_now) return "";
  return describe_link(*device->link_now);
}

// Fills in what the node's facts have about a port: MTU, speed, RDMA device and PCIe link. The speed is the
// interface's, else the RDMA port's.
void add_port_facts(ScenePort& port, const Facts& facts) {
  const NetInterface* interface = find_interface(facts.net, port.interface);
  std::string pci;
  if (interface != nullptr) {
    if (interface->mtu) port.mtu = fmt::format("{}", *interface->mtu);
    if (interface->speed_mbps && *interface->speed_mbps > 0)
      port.speed = to_text(BitRate{*interface->speed_mbps * 1e6});
    pci = interface->pci_address.value_or("");
    port.attach = interface->driver.value_or("");
  }
  if (const RdmaPortRef rdma = rdma_port_of(facts.rdma, facts.net, port.interface)) {
    port.device = fmt::format("{}/{}", rdma.device->name, rdma.port->number);
    if (port.speed.empty() && rdma.port->rate && rdma.port->rate->bits_per_second > 0)
      port.speed = to_text(*rdma.port->rate);
    if (pci.empty()) pci = rdma.device->pci_address.value_or("");
  }
  if (const std::string link = attach_of(facts, pci); !link.empty()) port.attach = link;
}

// Returns a node's port on a rail; without facts only its name and its findings.
ScenePort view_port(const std::string& rail, const RailPort& rail_port, const Facts* facts,
                    const Troubles& troubles) {
  ScenePort port;
  port.present = true;
  port.interface = rail_port.interface;
  if (facts != nullptr) add_port_facts(port, *facts);
  port.trouble = troubles.of_end(rail_port.node, rail, port.interface, port.device);
  return port;
}

// Returns the node's RDMA ports, which are shown if the inventory has no rails.
std::vector<ScenePort> rdma_ports(const std::string& node, const Facts& facts, const Troubles& troubles) {
  std::vector<ScenePort> ports;
  for (const NetInterface& interface : items(facts.net.interfaces))
    if (rdma_port_of(facts.rdma, facts.net, interface.name))
      ports.push_back(view_port("", {node, interface.name, {}}, &facts, troubles));
  return ports;
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts)
    if (!part.empty()) (text += text.empty() ? "" : " · ") += part;
  return text;
}

// Returns "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz" as "Intel Xeon E5-2690 v4".
std::string short_model(std::string model) {
  model = model.substr(0, model.find(" @ "));
  for (const std::string_view noise : {"(R)", "(TM)", "(tm)", " CPU", " Processor"})
    for (auto at = model.find(noise); at != std::string::npos; at = model.find(noise))
      model.erase(at, noise.size());
  return model;
}

void add_node_facts(SceneNode& view, const Facts& facts, const Troubles& troubles) {
  const System& system = facts.system;
  view.system = join({system.os.name.value_or(""), system.kernel.release.value_or("")});
  const std::string cpus =
      system.cpu.online ? fmt::format("{} {}", *system.cpu.online, *system.cpu.online == 1 ? "CPU" : "CPUs")
                        : "";
  const std::string memory = system.memory.total ? to_text(*system.memory.total) : "";
  view.machine = join({cpus, memory, short_model(system.cpu.model.value_or(""))});
  for (const Gpu& gpu : items(facts.gpus.devices))
    view.gpus.push_back(
        {model_of(gpu), attach_of(facts, gpu.pci_address), troubles.of_gpu(view.name, gpu.pci_address)});
}

std::string listed(const std::set<std::string>& values) {
  std::string text;
  for (const auto& value : values) (text += text.empty() ? "" : " and ") += value;
  return values.size() > 3 ? fmt::format("{} different values", values.size()) : text;
}

// Returns the rate of the slowest path on the rail, for each engine; empty without measurements.
std::string measured_on(const std::string& rail, const std::vector<Path>& paths) {
  std::vector<std::string> parts;
  for (const Engine engine : {Engine::kRdma, Engine::kTcp}) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const Path& path : paths)
      if (const Measurement* fastest = path.of(engine).fastest(); fastest != nullptr && path.rail == rail)
        slowest = std::min(slowest, fastest->summary.median);
    if (slowest != std::numeric_limits<double>::infinity())
      parts.push_back(fmt::format("{} {}", title(engine), to_text(BitRate{slowest})));
  }
  return join(parts);
}

// Returns a rail as its ports show it: their speeds and MTUs, and the worst trouble of the rail and its
// ports.
SceneRail view_rail(const Rail& rail, const std::vector<SceneNode>& nodes, std::size_t index,
                    const Troubles& troubles) {
  SceneRail view;
  view.name = rail.name;
  view.kind = kind_of(rail.fabric);
  view.has_switch = rail.topology == Topology::kSwitch;
  view.trouble = troubles.of("", {"rail:" + rail.name});
  std::set<std::string> speeds;
  std::set<std::string> mtus;
  for (const SceneNode& node : nodes) {
    const ScenePort& port = node.ports[index];
    if (!port.present) continue;
    if (!port.speed.empty()) speeds.insert(port.speed);
    if (!port.mtu.empty()) mtus.insert(port.mtu);
    // If one node is gone, a switch still carries the others.
    if (port.trouble.health == Health::kUnreachable && nodes.size() > 2) continue;
    if (port.trouble.health > view.trouble.health)
      view.trouble = {port.trouble.health, node.name + ": " + port.trouble.text};
  }
  view.speed = speeds.empty() && rail.speed ? to_text(*rail.speed) : listed(speeds);
  if (mtus.empty() && rail.mtu) mtus.insert(fmt::format("{}", *rail.mtu));
  if (!mtus.empty()) view.mtu = "MTU " + listed(mtus);
  return view;
}

// Returns "admin@10.2.0.11" as "10.2.0.11".
std::string host_of(std::string destination) { return destination.substr(destination.rfind('@') + 1); }

bool is_on_rail(const Cluster& cluster, const std::string& node, std::string_view interface) {
  return std::ranges::any_of(cluster.rails, [&](const Rail& rail) {
    const RailPort* port = find_port(rail, node);
    return port != nullptr && port->interface == interface;
  });
}

// Returns the node's address on the management network, with its prefix, if the node's facts have it: the
// address that ssh uses, else that of the interface with the default route, unless a rail has that interface.
const InterfaceAddress* management_address(const Report& report, const std::string& node,
                                           const std::string& destination, const Facts& facts) {
  const auto told = IpAddress::parse(destination);
  for (const NetInterface& interface : items(facts.net.interfaces)) {
    const bool has_route = !told && has_default_route(facts.net, interface.name) &&
                           !is_on_rail(report.cluster, node, interface.name);
    for (const InterfaceAddress& address : items(interface.addresses))
      if (told ? address.address == *told : has_route && address.address.is_v4()) return &address;
  }
  return nullptr;
}

// Returns the worst state of the sensors: "PSU2: failure detected".
std::string worst_sensor(const BmcFacts& bmc) {
  const auto rank = [](const BmcSensor& sensor) {
    return sensor.severity == BmcSeverity::kCritical ? 2 : sensor.severity == BmcSeverity::kWarning ? 1 : 0;
  };
  const auto& sensors = items(bmc.sensors);
  const auto worst = std::ranges::max_element(sensors, {}, rank);
  if (worst == sensors.end()) return "";
  if (rank(*worst) == 0) return fmt::format("{} sensors in order", sensors.size());
  return worst->reading ? fmt::format("{} {:g} {}", worst->name, *worst->reading, worst->units)
                        : fmt::format("{}: {}", worst->name, worst->state);
}

void add_bmc_state(SceneManagement& view, const std::string& node, const BmcFacts& bmc,
                   const Troubles& troubles) {
  if (view.bmc.empty()) view.bmc = bmc.address;
  if (!bmc.error.empty()) {
    const bool refused = !bmc.power.ok() && bmc.power.miss().missing == Missing::kDenied;
    view.state = refused ? "refuses the login" : "no answer";
    view.trouble = {refused ? Health::kBad : Health::kUnreachable, bmc.error};
    return;
  }
  const bool off = bmc.power.ok() && *bmc.power == PowerState::kOff;
  view.trouble = troubles.of(node, {"bmc"});
  if (off && view.trouble.health < Health::kBad) view.trouble = {Health::kBad, "the node is switched off"};
  view.state = join({bmc.power.ok() ? (off ? "off" : "on") : "", worst_sensor(bmc)});
}

// The addresses of the cluster's network are drawn in any state of the nodes.
SceneManagement view_management(const std::string& name, const Report& report, const Facts* facts,
                                const Troubles& troubles, std::set<std::string>& networks) {
  SceneManagement view;
  const Node* node = find_node(report.cluster, name);
  const std::string destination = node == nullptr ? "" : host_of(node->ssh);
  if (destination != name) view.address = destination;
  if (facts != nullptr)
    if (const InterfaceAddress* address = management_address(report, name, destination, *facts)) {
      view.address = address->address.to_text();
      if (const auto network = Subnet::of(address->address, address->prefix))
        networks.insert(network->to_text());
    }
  if (node != nullptr) view.bmc = node->bmc.value_or("");
  if (const auto asked = report.bmcs.find(name); asked != report.bmcs.end())
    add_bmc_state(view, name, asked->second, troubles);
  return view;
}

// Returns "64 BMCs: 62 healthy, 2 no answer".
std::string bmcs_text(const std::vector<SceneNode>& nodes) {
  std::size_t known = 0;
  std::size_t asked = 0;
  std::map<Health, std::size_t> counts;
  for (const SceneNode& node : nodes) {
    if (node.management.bmc.empty()) continue;
    ++known;
    if (node.management.state.empty()) continue;
    ++asked;
    ++counts[node.management.trouble.health];
  }
  if (known == 0) return "";
  std::string states;
  for (const auto& [health, count] : counts)
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, word(health));
  if (asked < known) states += fmt::format("{}{} not asked", states.empty() ? "" : ", ", known - asked);
  return fmt::format("{} BMC{}: {}", known, known == 1 ? "" : "s", states);
}

// Returns the inventory's nodes in its order; without an inventory, the nodes that were read or tried.
std::vector<std::string> names_of(const Report& report) {
  std::vector<std::string> names;
  for (const Node& node : report.cluster.nodes) names.push_back(node.name);
  if (!names.empty()) return names;
  for (const auto& [name, facts] : report.facts) names.push_back(name);
  for (const Unreachable& unreachable : report.unreachable) names.push_back(unreachable.node);
  return names;
}

SceneNode view_node(const std::string& name, const Report& report, const Troubles& troubles) {
  SceneNode view;
  view.name = name;
  view.trouble = troubles.of_node(name);
  const auto found = report.facts.find(name);
  const Facts* facts = found == report.facts.end() ? nullptr : &found->second;
  if (facts != nullptr) {
    add_node_facts(view, *facts, troubles);
  } else {
    const auto unreachable =
        std::find_if(report.unreachable.begin(), report.unreachable.end(),
                     [&](const Unreachable& unreachable) { return unreachable.node == name; });
    view.trouble = {Health::kUnreachable,
                    unreachable == report.unreachable.end() ? "not looked at" : unreachable->error.text};
  }
  for (const Rail& rail : report.cluster.rails) {
    const RailPort* port = find_port(rail, name);
    view.ports.push_back(port == nullptr ? ScenePort{} : view_port(rail.name, *port, facts, troubles));
    if (facts == nullptr && port != nullptr) view.ports.back().trouble = view.trouble;
  }
  if (report.cluster.rails.empty() && facts != nullptr) view.ports = rdma_ports(name, *facts, troubles);
  return view;
}

}  // namespace

std::string model_of(const Gpu& gpu) {
  if (!gpu.model) return gpu.pci_address;
  std::string model = *gpu.model;
  for (const std::string_view brand : {"NVIDIA ", "Tesla "})
    if (model.starts_with(brand)) model.erase(0, brand.size());
  return model;
}

std::string kind_of(Fabric fabric) {
  switch (fabric) {
    case Fabric::kRoce:
      return "RoCE";
    case Fabric::kInfiniband:
      return "InfiniBand";
    case Fabric::kEthernet:
      return "Ethernet";
  }
  return "";
}

std::string_view word(Health health) {
  constexpr std::string_view kWords[] = {"healthy", "could not look", "warning", "broken", "no answer"};
  return kWords[static_cast<std::size_t>(health)];
}

std::string_view css_class(Health health) { return enum_names(health)[static_cast<std::size_t>(health)]; }

Scene scene_of(const Report& report) {
  const Troubles troubles(report.verdict.findings);
  const std::vector<Path> paths = paths_of(report.measurements);
  Scene scene;
  std::set<std::string> networks;
  for (const auto& name : names_of(report)) {
    scene.nodes.push_back(view_node(name, report, troubles));
    const auto facts = report.facts.find(name);
    scene.nodes.back().management = view_management(
        name, report, facts == report.facts.end() ? nullptr : &facts->second, troubles, networks);
  }
  scene.management = listed(networks);
  scene.bmcs = bmcs_text(scene.nodes);
  for (std::size_t i = 0; i < report.cluster.rails.size(); ++i) {
    scene.rails.push_back(view_rail(report.cluster.rails[i], scene.nodes, i, troubles));
    scene.rails.back().measured = measured_on(scene.rails.back().name, paths);
  }
  return scene;
}

std::string summarise(const std::vector<SceneGpu>& gpus) {
  if (gpus.empty()) return "no GPU";
  std::vector<std::pair<std::string, int>> models;
  for (const SceneGpu& gpu : gpus) {
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.first == gpu.model; });
    if (found == models.end())
      models.emplace_back(gpu.model, 1);
    else
      ++found->second;
  }
  std::string text;
  for (const auto& [model, count] : models) {
    text += text.empty() ? "" : ", ";
    text += count == 1 ? model : fmt::format("{} × {}", count, model);
  }
  return text;
}

}  // namespace railbed

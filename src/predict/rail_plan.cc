// Switches. All rails are on one switch if it has a port for each. Otherwise each rail has one, so that rail
// r of every node is one hop away. Otherwise each rail has leaves with as many ports up as down, and enough
// spines for all those ports. A rail that would need a third level is refused: such networks are designed,
// not calculated.
//
// Ports of nodes are given in order: on a single switch rail by rail, on a rail's switch node by node. So a
// label shows the port, and the next node gets the next free one.
#include "predict/rail_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "hardware/part_model.h"

namespace railbed {
namespace {

constexpr int kMostPlannedNodes = 4096;
constexpr int kMostPlannedRails = 16;
constexpr std::uint32_t kRailStep = 65536;

int up_to(int count, int of) { return (count + of - 1) / of; }

// Returns the number of switches with so many ports that are needed; nothing if two levels are not enough.
std::optional<SwitchFit> fit_of(const SwitchModel& model, int ports, int nodes, int rails) {
  SwitchFit fit{std::string(model.name),  ports, model.speed, RailLayout::kOneSwitch, 1, 0, 0,
                std::string(model.source)};
  fit.spare = ports - nodes * rails;
  if (fit.spare >= 0) return fit;
  fit.layout = RailLayout::kSwitchPerRail;
  fit.leaves = rails;
  fit.spare = (ports - nodes) * rails;
  if (fit.spare >= 0) return fit;
  fit.layout = RailLayout::kLeafSpinePerRail;
  const int below = ports / 2;
  const int leaves = up_to(nodes, below);
  int spines = up_to(leaves * below, ports);
  while (spines <= below && below % spines != 0)
    ++spines;  // every leaf has the same number of cables to each spine
  if (spines > below) return std::nullopt;
  if (leaves > ports || leaves * (below / spines) > ports) return std::nullopt;
  fit.leaves = leaves * rails;
  fit.spines = spines * rails;
  fit.spare = (leaves * below - nodes) * rails;
  return fit;
}

std::string default_interface(Fabric fabric, int number) {
  return fabric == Fabric::kInfiniband ? fmt::format("ib{}", number) : fmt::format("eth{}", 100 + number);
}

// Returns the interface of each rail.
std::vector<std::string> rail_interfaces(const RailPlanRequest& request) {
  if (!request.interfaces.empty()) return request.interfaces;
  std::vector<std::string> interfaces;
  for (int rail = 0; rail < request.rails; ++rail)
    interfaces.push_back(default_interface(request.fabric, rail));
  return interfaces;
}

// Returns the interface of the storage network: the one that was asked for, else the one after the rails'.
std::string storage_interface(const RailPlanRequest& request) {
  const StorageNetworkRequest& storage = *request.storage;
  return storage.interface.empty() ? default_interface(storage.fabric, request.rails) : storage.interface;
}

std::string why_not(const RailPlanRequest& request) {
  if (request.nodes < 2 || request.nodes > kMostPlannedNodes)
    return fmt::format("2 to {} nodes", kMostPlannedNodes);
  if (request.rails < 1 || request.rails > kMostPlannedRails)
    return fmt::format("1 to {} rails", kMostPlannedRails);
  if (!(request.speed.bits_per_second > 0)) return "the ports' speed must be known";
  if (!request.interfaces.empty() && static_cast<int>(request.interfaces.size()) != request.rails)
    return fmt::format("{} rails need as many interfaces, not {}", request.rails, request.interfaces.size());
  if (!request.storage) return "";
  const StorageNetworkRequest& storage = *request.storage;
  if (storage.servers < 1 || storage.servers > kMostPlannedNodes - request.nodes)
    return fmt::format("1 to {} file servers beside {} nodes", kMostPlannedNodes - request.nodes,
                       request.nodes);
  if (!(storage.speed.bits_per_second > 0)) return "the storage ports' speed must be known";
  if (storage.prefix == request.prefix)
    return fmt::format("the servers' names begin as the nodes' do, with {}", request.prefix);
  const auto taken = rail_interfaces(request);
  if (const std::string own = storage_interface(request); std::ranges::find(taken, own) != taken.end())
    return fmt::format("{} is the interface of a rail already: storage needs another", own);
  return "";
}

std::vector<std::string> names(const std::string& prefix, int count, std::size_t digits) {
  std::vector<std::string> all;
  for (int i = 1; i <= count; ++i) all.push_back(fmt::format("{}{:0{}}", prefix, i, digits));
  return all;
}

std::size_t digits_of(int count) { return std::max<std::size_t>(2, std::to_string(count).size()); }

// Rails that share a model of switch: those of computation, or the one for storage.
struct Wires {
  std::vector<std::string> members = {};     // names of the nodes with a port on each of its rails
  std::vector<std::string> rails = {};       // names
  std::vector<std::string> labels = {};      // of each rail's cables: R0
  std::vector<std::string> interfaces = {};  // of each rail
  RailPurpose purpose = RailPurpose::kCompute;
  Fabric fabric = Fabric::kRoce;
  BitRate speed = {};
  std::string only_switch = {};   // name of the switch if one serves all rails
  std::string switch_model = {};  // empty: any
};

struct SwitchChoice {
  RailLayout layout = RailLayout::kBackToBack;
  int ports = 0;                // switch ports that members need
  std::vector<SwitchFit> fits;  // the chosen one first; empty without a switch
};

Wires rails_of(const RailPlanRequest& request) {
  Wires network{.members = names(request.prefix, request.nodes, digits_of(request.nodes)),
                .interfaces = rail_interfaces(request),
                .fabric = request.fabric,
                .speed = request.speed,
                .only_switch = "switch1",
                .switch_model = request.switch_model};
  for (int rail = 0; rail < request.rails; ++rail) {
    network.rails.push_back(fmt::format("rail{}", rail));
    network.labels.push_back(fmt::format("R{}", rail));
  }
  return network;
}

Wires storage_of(const RailPlanRequest& request) {
  const StorageNetworkRequest& storage = *request.storage;
  Wires network{.members = names(request.prefix, request.nodes, digits_of(request.nodes)),
                .rails = {"storage"},
                .labels = {"S"},
                .interfaces = {storage_interface(request)},
                .purpose = RailPurpose::kStorage,
                .fabric = storage.fabric,
                .speed = storage.speed,
                .only_switch = "storage-switch1",
                .switch_model = storage.switch_model};
  for (std::string& server : names(storage.prefix, storage.servers, digits_of(storage.servers)))
    network.members.push_back(std::move(server));
  return network;
}

Result<SwitchChoice> choose_switch(const Wires& network) {
  const int nodes = static_cast<int>(network.members.size());
  const int rails = static_cast<int>(network.rails.size());
  SwitchChoice choice{RailLayout::kOneSwitch, nodes * rails,
                      switches_that_fit(nodes, rails, network.fabric, network.speed)};
  const auto asked = [&] {
    return network.purpose == RailPurpose::kStorage
               ? fmt::format("{} nodes and file servers at {}", nodes, to_text(network.speed))
               : fmt::format("{} nodes by {} rails at {}", nodes, rails, to_text(network.speed));
  };
  if (!network.switch_model.empty()) {
    const SwitchModel* model = find_switch_model(network.switch_model);
    if (model == nullptr)
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: no switch of the table has this name", network.switch_model));
    const auto it = std::ranges::find(choice.fits, model->name, &SwitchFit::model);
    if (it == choice.fits.end())
      return fail(ErrorKind::kBadInput, fmt::format("{} does not serve {}: its {} ports of {}{}", model->name,
                                                    asked(), model->ports, to_text(model->speed),
                                                    model->infiniband ? ", InfiniBand" : ", Ethernet"));
    std::rotate(choice.fits.begin(), it, it + 1);
  }
  if (choice.fits.empty())
    return fail(ErrorKind::kBadInput, fmt::format("no switch of the table serves {} in two levels", asked()));
  choice.layout = choice.fits.front().layout;
  return choice;
}

// Adds one network to a plan that has its nodes: a rail, its cables and its switches at a time.
class WirePlanner {
 public:
  WirePlanner(const RailPlanRequest& request, const Wires& network, SwitchChoice choice, RailPlan& plan)
      : request_(request), network_(network), choice_(std::move(choice)), plan_(plan) {}

  Result<void> add() {
    const auto first = plan_.cluster.rails.size();
    for (std::size_t rail = 0; rail < network_.rails.size(); ++rail) {
      RETURN_IF_ERROR(add_rail(rail));
      lay_cables(rail, static_cast<int>(first + rail));
    }
    if (!choice_.fits.empty()) add_switches();
    return {};
  }

 private:
  const SwitchFit& fit() const { return choice_.fits.front(); }
  int member_count() const { return static_cast<int>(network_.members.size()); }
  int rail_count() const { return static_cast<int>(network_.rails.size()); }

  Result<void> add_rail(std::size_t number) {
    Rail rail;
    rail.name = network_.rails[number];
    rail.purpose = network_.purpose;
    rail.fabric = network_.fabric;
    rail.topology = choice_.fits.empty() ? Topology::kBackToBack : Topology::kSwitch;
    rail.speed = network_.speed;
    if (network_.fabric == Fabric::kRoce) rail.mtu = 9000;
    int prefix = 24;
    while ((1 << (32 - prefix)) < member_count() + 2) --prefix;
    const auto network =
        request_.network.plus(kRailStep * static_cast<std::uint32_t>(plan_.cluster.rails.size()));
    rail.subnet = network ? Subnet::of(*network, prefix) : std::nullopt;
    if (!request_.network.is_v4() || !rail.subnet || rail.subnet->network() != *network)
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: an IPv4 network that {} rails of /{} start at, as 10.0.0.0",
                              request_.network.to_text(), request_.rails, prefix));
    for (std::size_t member = 0; member < network_.members.size(); ++member)
      rail.ports.push_back({network_.members[member], network_.interfaces[number],
                            network->plus(static_cast<std::uint32_t>(member + 1))});
    plan_.cluster.rails.push_back(std::move(rail));
    return {};
  }

  CableEnd member_end(int member, std::size_t rail) const {
    return {network_.members[static_cast<std::size_t>(member)], network_.interfaces[rail]};
  }

  // Returns the switch port of a member on a rail: on a leaf of the rail, on its switch, or on the only switch.
  CableEnd leaf_port(std::size_t rail, int member) const {
    const int below = fit().ports / 2;
    if (choice_.layout == RailLayout::kOneSwitch)
      return {network_.only_switch, fmt::format("{}", static_cast<int>(rail) * member_count() + member + 1)};
    if (choice_.layout == RailLayout::kSwitchPerRail)
      return {fmt::format("{}-switch1", network_.rails[rail]), fmt::format("{}", member + 1)};
    return {fmt::format("{}-leaf{}", network_.rails[rail], member / below + 1),
            fmt::format("{}", member % below + 1)};
  }

  // `number` is the rail's place in the cluster.
  void lay_cables(std::size_t rail, int number) {
    int laid = 0;
    const auto lay = [&](CableEnd from, CableEnd to) {
      plan_.cables.push_back(
          {fmt::format("{}-{:0{}}", network_.labels[rail], ++laid, digits_of(member_count())), number,
           std::move(from), std::move(to)});
    };
    if (choice_.fits.empty()) return lay(member_end(0, rail), member_end(1, rail));
    for (int member = 0; member < member_count(); ++member)
      lay(member_end(member, rail), leaf_port(rail, member));
    if (choice_.layout != RailLayout::kLeafSpinePerRail) return;
    const std::string& name = network_.rails[rail];
    const int below = fit().ports / 2;
    const int each = below / (fit().spines / rail_count());
    for (int leaf = 0; leaf < fit().leaves / rail_count(); ++leaf)
      for (int up = 0; up < below; ++up)
        lay({fmt::format("{}-leaf{}", name, leaf + 1), fmt::format("{}", below + up + 1)},
            {fmt::format("{}-spine{}", name, up / each + 1), fmt::format("{}", leaf * each + up % each + 1)});
  }

  // Adds the switches as parts, so that `railbed check` compares them with the rails.
  void add_switch(std::string name, std::vector<std::string> rails) {
    ClusterPart part;
    part.kind = PartKind::kSwitch;
    part.name = std::move(name);
    part.model = fit().model;
    part.rails = std::move(rails);
    plan_.cluster.parts.push_back(std::move(part));
  }

  void add_switches() {
    // A switch without rails serves all of them.
    if (choice_.layout == RailLayout::kOneSwitch)
      return add_switch(network_.only_switch, request_.storage ? network_.rails : std::vector<std::string>{});
    const bool spines = choice_.layout == RailLayout::kLeafSpinePerRail;
    for (const std::string& rail : network_.rails) {
      for (int i = 1; i <= fit().leaves / rail_count(); ++i)
        add_switch(fmt::format("{}-{}{}", rail, spines ? "leaf" : "switch", i), {rail});
      for (int i = 1; i <= fit().spines / rail_count(); ++i)
        add_switch(fmt::format("{}-spine{}", rail, i), {rail});
    }
  }

  const RailPlanRequest& request_;
  const Wires& network_;
  const SwitchChoice choice_;
  RailPlan& plan_;
};

void add_nodes(const Wires& network, Cluster& cluster) {
  for (const std::string& name : network.members) {
    if (find_node(cluster, name) != nullptr) continue;
    Node node;
    node.name = node.ssh = name;
    cluster.nodes.push_back(std::move(node));
  }
}

Result<void> add_storage(const RailPlanRequest& request, RailPlan& plan) {
  const Wires network = storage_of(request);
  ASSIGN_OR_RETURN(const SwitchChoice choice, choose_switch(network));
  add_nodes(network, plan.cluster);
  RETURN_IF_ERROR(WirePlanner(request, network, choice, plan).add());
  const int servers = request.storage->servers;
  const double share = static_cast<double>(servers) / request.nodes;
  plan.storage = StorageNetwork{servers,      choice.layout,
                                choice.ports, choice.fits.front(),
                                choice.fits,  network.speed * std::min(1.0, share)};
  return {};
}

}  // namespace

std::vector<SwitchFit> switches_that_fit(int nodes, int rails, Fabric fabric, BitRate speed) {
  std::vector<SwitchFit> fits;
  for (const SwitchModel& model : switch_models()) {
    if (model.infiniband != (fabric == Fabric::kInfiniband) || model.speed < speed) continue;
    if (auto fit = fit_of(model, model.ports_at(speed), nodes, rails)) fits.push_back(*std::move(fit));
  }
  std::ranges::stable_sort(fits, {}, [](const SwitchFit& fit) {
    return std::tuple(fit.count(), fit.speed.bits_per_second, fit.ports);
  });
  return fits;
}

Wiring wiring_of(const RailPlan& plan) {
  Wiring wiring;
  const auto for_storage = [&](int rail) {
    return plan.cluster.rails[static_cast<std::size_t>(rail)].purpose == RailPurpose::kStorage;
  };
  for (const RailPort& port : plan.cluster.rails.front().ports) wiring.nodes[port.node];
  std::map<std::string, std::size_t> places;
  const auto place_of = [&](const std::string& name) {
    const auto [known, fresh] = places.emplace(name, wiring.switches.size());
    if (fresh) wiring.switches.push_back({name, 2, {}});
    return known->second;
  };
  for (const CableRun& cable : plan.cables) {
    if (for_storage(cable.rail)) continue;
    const auto from = wiring.nodes.find(cable.from.device);
    const auto to = wiring.nodes.find(cable.to.device);
    if (from != wiring.nodes.end() && to != wiring.nodes.end()) continue;  // back to back
    if (from == wiring.nodes.end() && to == wiring.nodes.end()) {
      const std::size_t one = place_of(cable.from.device), other = place_of(cable.to.device);
      wiring.switches[one].next.push_back(other);
      wiring.switches[other].next.push_back(one);
      continue;
    }
    const std::size_t leaf = place_of(from == wiring.nodes.end() ? cable.from.device : cable.to.device);
    wiring.switches[leaf].level = 1;
    auto& its = (from == wiring.nodes.end() ? to : from)->second;
    if (std::ranges::find(its, leaf) == its.end()) its.push_back(leaf);
  }
  return wiring;
}

Result<RailPlan> plan_rails(const RailPlanRequest& request) {
  if (const std::string why = why_not(request); !why.empty()) return fail(ErrorKind::kBadInput, why);
  const Wires rails = rails_of(request);
  SwitchChoice choice;
  if (request.nodes > 2 || request.always_switch) {
    ASSIGN_OR_RETURN(choice, choose_switch(rails));
  }
  RailPlan plan;
  plan.layout = choice.layout;
  plan.switch_ports = choice.ports;
  plan.fits = choice.fits;
  plan.metres = request.metres;
  if (!choice.fits.empty()) plan.chosen = choice.fits.front();
  plan.cluster.name = request.prefix;
  add_nodes(rails, plan.cluster);
  RETURN_IF_ERROR(WirePlanner(request, rails, choice, plan).add());
  if (request.storage) RETURN_IF_ERROR(add_storage(request, plan));
  return plan;
}

}  // namespace railbed

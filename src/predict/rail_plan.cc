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

std::string why_not(const RailPlanRequest& request) {
  if (request.nodes < 2 || request.nodes > kMostPlannedNodes)
    return fmt::format("2 to {} nodes", kMostPlannedNodes);
  if (request.rails < 1 || request.rails > kMostPlannedRails)
    return fmt::format("1 to {} rails", kMostPlannedRails);
  if (!(request.speed.bits_per_second > 0)) return "the ports' speed must be known";
  if (!request.interfaces.empty() && static_cast<int>(request.interfaces.size()) != request.rails)
    return fmt::format("{} rails need as many interfaces, not {}", request.rails, request.interfaces.size());
  return "";
}

class Planner {
 public:
  explicit Planner(const RailPlanRequest& request) : request_(request) {}

  Result<RailPlan> plan() {
    if (const std::string why = why_not(request_); !why.empty()) return fail(ErrorKind::kBadInput, why);
    if (request_.nodes > 2 || request_.always_switch) RETURN_IF_ERROR(choose_switch());
    plan_.metres = request_.metres;
    name_nodes();
    for (int rail = 0; rail < request_.rails; ++rail) {
      RETURN_IF_ERROR(add_rail(rail));
      lay_cables(rail);
    }
    add_switches();
    return std::move(plan_);
  }

 private:
  Result<void> choose_switch() {
    plan_.switch_ports = request_.nodes * request_.rails;
    plan_.fits = switches_that_fit(request_.nodes, request_.rails, request_.fabric, request_.speed);
    const std::string& wanted = request_.switch_model;
    if (!wanted.empty()) {
      const SwitchModel* model = find_switch_model(wanted);
      if (model == nullptr)
        return fail(ErrorKind::kBadInput, fmt::format("{}: no switch of the table has this name", wanted));
      const auto it = std::ranges::find(plan_.fits, model->name, &SwitchFit::model);
      if (it == plan_.fits.end())
        return fail(
            ErrorKind::kBadInput,
            fmt::format("{} does not serve {} nodes by {} rails at {}: its {} ports of {}{}", model->name,
                        request_.nodes, request_.rails, to_text(request_.speed), model->ports,
                        to_text(model->speed), model->infiniband ? ", InfiniBand" : ", Ethernet"));
      std::rotate(plan_.fits.begin(), it, it + 1);
    }
    if (plan_.fits.empty())
      return fail(ErrorKind::kBadInput,
                  fmt::format("no switch of the table serves {} nodes by {} rails at {} in two levels",
                              request_.nodes, request_.rails, to_text(request_.speed)));
    plan_.chosen = plan_.fits.front();
    plan_.layout = plan_.chosen->layout;
    return {};
  }

  void name_nodes() {
    const std::size_t digits = std::max<std::size_t>(2, std::to_string(request_.nodes).size());
    for (int i = 1; i <= request_.nodes; ++i) {
      Node node;
      node.name = fmt::format("{}{:0{}}", request_.prefix, i, digits);
      node.ssh = node.name;
      plan_.cluster.nodes.push_back(std::move(node));
    }
    plan_.cluster.name = request_.prefix;
  }

  std::string interface(int rail) const {
    if (!request_.interfaces.empty()) return request_.interfaces[static_cast<std::size_t>(rail)];
    return request_.fabric == Fabric::kInfiniband ? fmt::format("ib{}", rail)
                                                  : fmt::format("eth{}", 100 + rail);
  }

  Result<void> add_rail(int number) {
    Rail rail;
    rail.name = fmt::format("rail{}", number);
    rail.fabric = request_.fabric;
    rail.topology = plan_.chosen ? Topology::kSwitch : Topology::kBackToBack;
    rail.speed = request_.speed;
    if (request_.fabric == Fabric::kRoce) rail.mtu = 9000;
    int prefix = 24;
    while ((1 << (32 - prefix)) < request_.nodes + 2) --prefix;
    const auto network = request_.network.plus(kRailStep * static_cast<std::uint32_t>(number));
    rail.subnet = network ? Subnet::of(*network, prefix) : std::nullopt;
    if (!request_.network.is_v4() || !rail.subnet || rail.subnet->network() != *network)
      return fail(ErrorKind::kBadInput,
                  fmt::format("{}: an IPv4 network that {} rails of /{} start at, as 10.0.0.0",
                              request_.network.to_text(), request_.rails, prefix));
    for (int node = 0; node < request_.nodes; ++node)
      rail.ports.push_back({plan_.cluster.nodes[static_cast<std::size_t>(node)].name, interface(number),
                            network->plus(static_cast<std::uint32_t>(node + 1))});
    plan_.cluster.rails.push_back(std::move(rail));
    return {};
  }

  void add_cable(int rail, CableEnd from, CableEnd to) {
    const std::size_t digits = std::max<std::size_t>(2, std::to_string(request_.nodes).size());
    plan_.cables.push_back(
        {fmt::format("R{}-{:0{}}", rail, ++laid_, digits), rail, std::move(from), std::move(to)});
  }

  CableEnd node_end(int node, int rail) const {
    return {plan_.cluster.nodes[static_cast<std::size_t>(node)].name, interface(rail)};
  }

  // Returns the switch port of a node on a rail: on a leaf of the rail, on its switch, or on the only switch.
  CableEnd leaf_port(int rail, int node) const {
    const int below = plan_.chosen->ports / 2;
    if (plan_.layout == RailLayout::kOneSwitch)
      return {"switch1", fmt::format("{}", rail * request_.nodes + node + 1)};
    if (plan_.layout == RailLayout::kSwitchPerRail)
      return {fmt::format("rail{}-switch1", rail), fmt::format("{}", node + 1)};
    return {fmt::format("rail{}-leaf{}", rail, node / below + 1), fmt::format("{}", node % below + 1)};
  }

  void lay_cables(int rail) {
    laid_ = 0;
    if (!plan_.chosen) return add_cable(rail, node_end(0, rail), node_end(1, rail));
    for (int node = 0; node < request_.nodes; ++node)
      add_cable(rail, node_end(node, rail), leaf_port(rail, node));
    if (plan_.layout == RailLayout::kLeafSpinePerRail) lay_uplinks(rail);
  }

  void lay_uplinks(int rail) {
    const int below = plan_.chosen->ports / 2;
    const int leaves = plan_.chosen->leaves / request_.rails;
    const int each = below / (plan_.chosen->spines / request_.rails);
    for (int leaf = 0; leaf < leaves; ++leaf)
      for (int up = 0; up < below; ++up)
        add_cable(rail, {fmt::format("rail{}-leaf{}", rail, leaf + 1), fmt::format("{}", below + up + 1)},
                  {fmt::format("rail{}-spine{}", rail, up / each + 1),
                   fmt::format("{}", leaf * each + up % each + 1)});
  }

  // Adds the switches as parts, so that `railbed check` compares them with the rails.
  void add_switch(std::string name, std::optional<int> rail) {
    ClusterPart part;
    part.kind = PartKind::kSwitch;
    part.name = std::move(name);
    part.model = plan_.chosen->model;
    if (rail) part.rails = {fmt::format("rail{}", *rail)};
    plan_.cluster.parts.push_back(std::move(part));
  }

  void add_switches() {
    if (!plan_.chosen) return;
    if (plan_.layout == RailLayout::kOneSwitch) return add_switch("switch1", std::nullopt);
    for (int rail = 0; rail < request_.rails; ++rail) {
      const bool spines = plan_.layout == RailLayout::kLeafSpinePerRail;
      for (int i = 1; i <= plan_.chosen->leaves / request_.rails; ++i)
        add_switch(fmt::format("rail{}-{}{}", rail, spines ? "leaf" : "switch", i), rail);
      for (int i = 1; i <= plan_.chosen->spines / request_.rails; ++i)
        add_switch(fmt::format("rail{}-spine{}", rail, i), rail);
    }
  }

  const RailPlanRequest& request_;
  RailPlan plan_;
  int laid_ = 0;  // number of the rail's cables so far
};

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
  for (const Node& node : plan.cluster.nodes) wiring.nodes[node.name];
  std::map<std::string, std::size_t> places;
  const auto place_of = [&](const std::string& name) {
    const auto [known, fresh] = places.emplace(name, wiring.switches.size());
    if (fresh) wiring.switches.push_back({name, 2, {}});
    return known->second;
  };
  for (const CableRun& cable : plan.cables) {
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

Result<RailPlan> plan_rails(const RailPlanRequest& request) { return Planner(request).plan(); }

}  // namespace railbed

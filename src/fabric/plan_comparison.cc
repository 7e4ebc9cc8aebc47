// There are two sets of edges between ports: planned cables that are missing, and cables that exist but are not
// planned. A port has at most one edge of each set, so the edges form chains and rings, in which the two sets
// alternate. Each chain or ring is one mistake of one person:
//   one planned edge alone            a cable is missing
//   one unplanned edge alone          a cable too many
//   planned, unplanned                one end of a cable is in another hole
//   a ring of two and two             two cables are swapped
//   anything else                     several cables are mixed up
#include "fabric/plan_comparison.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

namespace railbed {
namespace {

using ByName = std::map<std::pair<bool, std::string>, std::vector<int>>;

ByName unmatched_names(const IbFabric& fabric, const std::vector<int>& other) {
  ByName names;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (other[n] < 0 && !fabric.nodes[n].description.empty())
      names[{fabric.nodes[n].is_switch(), fabric.nodes[n].description}].push_back(static_cast<int>(n));
  return names;
}

class Comparing {
 public:
  Comparing(const IbFabric& fabric, const IbFabric& plan) : fabric_(fabric), plan_(plan) {}

  PlanComparison compare() {
    match();
    if (found_.of_another_subnet()) return std::move(found_);
    read_cables();
    find_missing_nodes();
    find_mistakes();
    return std::move(found_);
  }

 private:
  // Pairs nodes of the plan and of the subnet by GUID, else by name where that is unique on both sides.
  void match() {
    found_.actual_of.assign(plan_.nodes.size(), -1);
    found_.planned_of.assign(fabric_.nodes.size(), -1);
    std::unordered_map<std::uint64_t, int> by_guid;
    for (std::size_t n = 0; n < fabric_.nodes.size(); ++n)
      by_guid.emplace(fabric_.nodes[n].guid, static_cast<int>(n));
    const auto pair_up = [&](int planned, int actual) {
      found_.actual_of[static_cast<std::size_t>(planned)] = actual;
      found_.planned_of[static_cast<std::size_t>(actual)] = planned;
    };
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n)
      if (const auto found = by_guid.find(plan_.nodes[n].guid);
          found != by_guid.end() && found_.planned_of[static_cast<std::size_t>(found->second)] < 0)
        pair_up(static_cast<int>(n), found->second);
    const ByName actual = unmatched_names(fabric_, found_.planned_of);
    for (const auto& [name, planned] : unmatched_names(plan_, found_.actual_of))
      if (const auto found = actual.find(name);
          found != actual.end() && planned.size() == 1 && found->second.size() == 1)
        pair_up(planned.front(), found->second.front());
  }

  const IbNode& planned(int node) const { return plan_.nodes[static_cast<std::size_t>(node)]; }
  bool is_missing(int node) const { return found_.actual_of[static_cast<std::size_t>(node)] < 0; }
  bool is_planned(const IbEnd& actual) const {
    return found_.planned_of[static_cast<std::size_t>(actual.node)] >= 0;
  }

  void read_cables() {
    each_cable(plan_, [&](const IbEnd& end, const IbEnd& other) {
      const IbEnd a = found_.to_actual(fabric_, end), b = found_.to_actual(fabric_, other);
      if (!a || !b) return;
      found_.wanted[a] = b;
      found_.wanted[b] = a;
      const IbLink link = plan_.port(end).active;
      if (fabric_.port(a).peer == b && link.width > 0) found_.links[std::min(a, b)] = link;
    });
  }

  // Missing nodes with a planned cable between them form an island. The nodes behind a dead switch are
  // explained by the switches at the island's border, which the plan cables to nodes that are present.
  void find_missing_nodes() {
    std::vector<bool> seen(plan_.nodes.size(), false);
    std::vector<int> lone;
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      if (!is_missing(static_cast<int>(n)) || seen[n]) continue;
      const std::vector<int> island = island_of(static_cast<int>(n), seen);
      std::vector<int> border;
      std::ranges::copy_if(island, std::back_inserter(border),
                           [&](int node) { return planned(node).is_switch() && touches_present(node); });
      if (border.empty()) lone.insert(lone.end(), island.begin(), island.end());
      for (const int node : border) found_.missing_switches.push_back({node, island.size() - border.size()});
    }
    find_missing_hcas(lone);
  }

  std::vector<int> island_of(int first, std::vector<bool>& seen) const {
    std::vector<int> island = {first};
    seen[static_cast<std::size_t>(first)] = true;
    for (std::size_t i = 0; i < island.size(); ++i)
      for (const IbPort& port : planned(island[i]).ports)
        if (port.peer && is_missing(port.peer.node) && !seen[static_cast<std::size_t>(port.peer.node)]) {
          seen[static_cast<std::size_t>(port.peer.node)] = true;
          island.push_back(port.peer.node);
        }
    return island;
  }

  bool touches_present(int node) const {
    return std::ranges::any_of(planned(node).ports,
                               [&](const IbPort& port) { return port.peer && !is_missing(port.peer.node); });
  }

  void find_missing_hcas(const std::vector<int>& lone) {
    std::map<std::string, std::vector<int>> missing;
    for (const int node : lone) missing[host_of(planned(node))].push_back(node);
    std::map<std::string, std::size_t> planned_hcas;
    for (const IbNode& node : plan_.nodes)
      if (!node.is_switch()) ++planned_hcas[host_of(node)];
    for (auto& [host, nodes] : missing) {
      const bool whole = nodes.size() > 1 && nodes.size() == planned_hcas[host];
      found_.missing_hcas.push_back({host, std::move(nodes), whole});
    }
  }

  // Returns the far end of the unplanned cable at a port; unset if there is none, or if it leads to no node
  // of the plan.
  IbEnd astray(const IbEnd& end) const {
    const IbEnd peer = fabric_.port(end).peer;
    return peer && is_planned(peer) && peer != found_.wanted_at(end) ? peer : IbEnd{};
  }
  // Returns the planned far end of the missing cable at a port; unset if none is missing.
  IbEnd lost(const IbEnd& end) const {
    const IbEnd wanted = found_.wanted_at(end);
    return wanted && fabric_.port(end).peer != wanted ? wanted : IbEnd{};
  }

  void find_mistakes() {
    std::set<IbEnd> ends;
    for (const auto& [end, other] : found_.wanted)
      if (lost(end)) ends.insert(end);
    each_cable(fabric_, [&](const IbEnd& end, const IbEnd& other) {
      if (is_planned(end) && is_planned(other) && found_.wanted_at(end) != other) {
        ends.insert(end);
        ends.insert(other);
      }
    });
    std::set<IbEnd> done;
    // Chains first: they begin at a port with one edge. The ports that are left form rings.
    for (const bool rings : {false, true})
      for (const IbEnd& end : ends) {
        if (done.contains(end) || (!rings && lost(end) && astray(end))) continue;
        found_.mistakes.push_back(mistake_of(chain_from(end, done)));
      }
  }

  // The ports of a chain or ring in order. `begins_lost`: the first edge is a planned one.
  struct Chain {
    std::vector<IbEnd> ends;
    bool begins_lost = false;
    bool ring = false;
  };

  // Follows planned and unplanned edges in turn from a port, to the end or back to it.
  Chain chain_from(const IbEnd& first, std::set<IbEnd>& done) const {
    Chain chain;
    chain.begins_lost = bool(lost(first));
    bool planned = chain.begins_lost;
    for (IbEnd at = first; at; planned = !planned) {
      if (!done.insert(at).second) {
        chain.ring = at == first;
        break;
      }
      chain.ends.push_back(at);
      at = planned ? lost(at) : astray(at);
    }
    return chain;
  }

  CablingMistake mistake_of(Chain chain) const {
    using enum CablingMistake::Kind;
    if (chain.ends.size() == 2 && !chain.ring)
      return {chain.begins_lost ? kMissing : kExtra, std::move(chain.ends)};
    if (chain.ends.size() == 3) {
      if (!chain.begins_lost) std::ranges::reverse(chain.ends);
      return {kMoved, std::move(chain.ends)};
    }
    if (chain.ends.size() == 4 && chain.ring) return {kSwapped, closer_pair(chain)};
    return {kMixedUp, std::move(chain.ends)};
  }

  // Returns the ends of two swapped cables in the order of kSwapped. Either pair of holes could be exchanged;
  // e0 and e2 are the pair that is closer together.
  std::vector<IbEnd> closer_pair(const Chain& chain) const {
    std::array<IbEnd, 4> e = {chain.ends[0], chain.ends[1], chain.ends[2], chain.ends[3]};
    if (!chain.begins_lost) e = {e[1], e[2], e[3], e[0]};
    const auto reach = [&](const IbEnd& a, const IbEnd& b) {
      return 2 * (a.node == b.node) + (fabric_.at(a).is_switch() && fabric_.at(b).is_switch());
    };
    if (reach(e[1], e[3]) > reach(e[0], e[2])) e = {e[1], e[0], e[3], e[2]};
    if (e[2] < e[0]) e = {e[2], e[3], e[0], e[1]};
    return {e.begin(), e.end()};
  }

  const IbFabric& fabric_;
  const IbFabric& plan_;
  PlanComparison found_;
};

}  // namespace

bool PlanComparison::of_another_subnet() const {
  return std::ranges::all_of(actual_of, [](int actual) { return actual < 0; });
}

IbEnd PlanComparison::to_actual(const IbFabric& fabric, const IbEnd& planned) const {
  const int node = actual_of[static_cast<std::size_t>(planned.node)];
  const bool there = node >= 0 && planned.port <= fabric.nodes[static_cast<std::size_t>(node)].last_port();
  return there ? IbEnd{node, planned.port} : IbEnd{};
}

IbEnd PlanComparison::wanted_at(const IbEnd& end) const {
  const auto found = wanted.find(end);
  return found == wanted.end() ? IbEnd{} : found->second;
}

PlanComparison compare_with_plan(const IbFabric& fabric, const IbFabric& plan) {
  return Comparing(fabric, plan).compare();
}

}  // namespace railbed

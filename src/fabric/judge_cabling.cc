// Rules on cables against a plan. There are two sets of edges between ports: planned cables that are missing,
// and cables that exist but are not planned. A port has at most one edge of each set, so the edges form
// chains and rings, in which the two sets alternate. Each chain or ring is one mistake of one person and is
// reported once:
//   one planned edge alone            a cable is missing
//   one unplanned edge alone          a cable too many
//   planned, unplanned                one end of a cable is in another hole
//   a ring of two and two             two cables are swapped
//   anything else                     several cables are mixed up
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "fabric/judging.h"

namespace railbed {
namespace {

constexpr std::size_t kCablesNamed = 3;

// Pairs of a node of the fabric and a node of the plan: by GUID, else by name where that is unique on both
// sides.
struct Matching {
  std::vector<int> actual_of;   // by the plan's node; -1: it is missing
  std::vector<int> planned_of;  // by the fabric's node; -1: it is not in the plan
};

using ByName = std::map<std::pair<bool, std::string>, std::vector<int>>;

ByName unmatched_names(const IbFabric& fabric, const std::vector<int>& other) {
  ByName names;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (other[n] < 0 && !fabric.nodes[n].description.empty())
      names[{fabric.nodes[n].is_switch(), fabric.nodes[n].description}].push_back(static_cast<int>(n));
  return names;
}

Matching match(const IbFabric& plan, const IbFabric& fabric) {
  Matching matching{std::vector<int>(plan.nodes.size(), -1), std::vector<int>(fabric.nodes.size(), -1)};
  std::unordered_map<std::uint64_t, int> by_guid;
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    by_guid.emplace(fabric.nodes[n].guid, static_cast<int>(n));
  const auto pair_up = [&](int planned, int actual) {
    matching.actual_of[static_cast<std::size_t>(planned)] = actual;
    matching.planned_of[static_cast<std::size_t>(actual)] = planned;
  };
  for (std::size_t n = 0; n < plan.nodes.size(); ++n)
    if (const auto found = by_guid.find(plan.nodes[n].guid);
        found != by_guid.end() && matching.planned_of[static_cast<std::size_t>(found->second)] < 0)
      pair_up(static_cast<int>(n), found->second);
  const ByName actual = unmatched_names(fabric, matching.planned_of);
  for (const auto& [name, planned] : unmatched_names(plan, matching.actual_of))
    if (const auto found = actual.find(name);
        found != actual.end() && planned.size() == 1 && found->second.size() == 1)
      pair_up(planned.front(), found->second.front());
  return matching;
}

std::string count_of(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

class Cabling {
 public:
  Cabling(const FabricEvidence& evidence, FabricFindings& findings)
      : fabric_(evidence.fabric),
        plan_(*evidence.plan),
        findings_(findings),
        matching_(match(plan_, evidence.fabric)) {}

  PlannedLinks judge() {
    if (std::ranges::all_of(matching_.actual_of, [](int actual) { return actual < 0; })) {
      findings_.fail(
          "fabric.missing-node", "plan",
          {.message = "no node of the plan is in this subnet: is it the plan of another?",
           .expected = count_of(plan_.nodes.size(), "node", "nodes"),
           .observed = "none of them",
           .remedy = {"Name the plan of this subnet, or write one with --learn once it is healthy."}});
      return {};
    }
    nodes_that_changed();
    read_plan();
    missing_nodes();
    unplanned_nodes();
    chains();
    return std::move(links_);
  }

 private:
  IbEnd to_actual(const IbEnd& planned) const {
    const int node = matching_.actual_of[static_cast<std::size_t>(planned.node)];
    const bool there = node >= 0 && planned.port <= fabric_.nodes[static_cast<std::size_t>(node)].last_port();
    return there ? IbEnd{node, planned.port} : IbEnd{};
  }
  bool is_missing(int planned) const { return matching_.actual_of[static_cast<std::size_t>(planned)] < 0; }
  bool is_planned(const IbEnd& actual) const {
    return matching_.planned_of[static_cast<std::size_t>(actual.node)] >= 0;
  }
  std::string far_end(const IbEnd& end) const {
    return fmt::format("{} port {}", name_of(fabric_.at(end)), end.port);
  }
  std::string cable(const IbEnd& end, const IbEnd& other) const {
    return fmt::format("{} and {}", place_of(fabric_, end), place_of(fabric_, other));
  }

  void nodes_that_changed() {
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      const int at = matching_.actual_of[n];
      if (at < 0) continue;
      const IbNode& planned = plan_.nodes[n];
      const IbNode& actual = fabric_.nodes[static_cast<std::size_t>(at)];
      if (planned.guid == actual.guid) continue;
      findings_.warn(
          "fabric.replaced", name_of(actual),
          {.message = fmt::format("{} has another GUID than in the plan: it was replaced", name_of(actual)),
           .expected = guid_text(planned.guid),
           .observed = guid_text(actual.guid),
           .remedy = {"If that was meant, write the plan anew with --learn."}});
    }
  }

  void read_plan() {
    each_cable(plan_, [&](const IbEnd& end, const IbEnd& other) {
      const IbEnd a = to_actual(end), b = to_actual(other);
      if (!a || !b) return;
      wanted_[a] = b;
      wanted_[b] = a;
      const IbLink link = plan_.port(end).active;
      if (fabric_.port(a).peer == b && link.width > 0) links_[std::min(a, b)] = link;
    });
  }

  // Missing nodes with a planned cable between them form an island. The nodes behind a dead switch are
  // explained by the switches at the island's border, which the plan cables to nodes that are present.
  void missing_nodes() {
    std::vector<bool> seen(plan_.nodes.size(), false);
    std::vector<int> lone;
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      if (!is_missing(static_cast<int>(n)) || seen[n]) continue;
      const std::vector<int> island = island_of(static_cast<int>(n), seen);
      std::vector<int> border;
      for (const int one : island)
        if (plan_.nodes[static_cast<std::size_t>(one)].is_switch() && touches_present(one))
          border.push_back(one);
      if (border.empty())
        lone.insert(lone.end(), island.begin(), island.end());
      else
        missing_switches(border, island.size() - border.size());
    }
    missing_hcas(lone);
  }

  std::vector<int> island_of(int first, std::vector<bool>& seen) const {
    std::vector<int> island = {first};
    seen[static_cast<std::size_t>(first)] = true;
    for (std::size_t i = 0; i < island.size(); ++i)
      for (const IbPort& port : plan_.nodes[static_cast<std::size_t>(island[i])].ports)
        if (port.peer && is_missing(port.peer.node) && !seen[static_cast<std::size_t>(port.peer.node)]) {
          seen[static_cast<std::size_t>(port.peer.node)] = true;
          island.push_back(port.peer.node);
        }
    return island;
  }

  bool touches_present(int planned) const {
    return std::ranges::any_of(plan_.nodes[static_cast<std::size_t>(planned)].ports,
                               [&](const IbPort& port) { return port.peer && !is_missing(port.peer.node); });
  }

  void missing_switches(const std::vector<int>& border, std::size_t behind) {
    for (const int one : border) {
      const IbNode& node = plan_.nodes[static_cast<std::size_t>(one)];
      const auto cables = static_cast<std::size_t>(
          std::ranges::count_if(node.ports, [](const IbPort& port) { return bool(port.peer); }));
      std::string message = fmt::format("the switch {} is not in the subnet: its {} dark", name_of(node),
                                        cables == 1 ? "cable is" : fmt::format("{} cables are", cables));
      if (behind > 0)
        message += fmt::format(", and {} behind it cannot be reached", count_of(behind, "node", "nodes"));
      findings_.fail(
          "fabric.missing-node", name_of(node),
          {.message = std::move(message),
           .expected = fmt::format("{} ({})", name_of(node), guid_text(node.guid)),
           .observed = "no answer",
           .remedy = {fmt::format("Look at {}'s power supplies and its console.", name_of(node))}});
    }
  }

  // A host whose HCAs are all missing is off; one that lacks some of them has bad cables or cards.
  void missing_hcas(const std::vector<int>& lone) {
    std::map<std::string, std::pair<std::size_t, std::vector<int>>> hosts;  // HCAs in the plan, missing ones
    std::set<std::string> wanted;
    for (const int one : lone) wanted.insert(host_of(plan_.nodes[static_cast<std::size_t>(one)]));
    for (const IbNode& node : plan_.nodes)
      if (!node.is_switch() && wanted.contains(host_of(node))) ++hosts[host_of(node)].first;
    for (const int one : lone)
      hosts[host_of(plan_.nodes[static_cast<std::size_t>(one)])].second.push_back(one);
    for (const auto& [host, entry] : hosts) {
      if (entry.first > 1 && entry.first == entry.second.size())
        missing_host(host, entry.second);
      else
        for (const int one : entry.second) missing_hca(one);
    }
  }

  void missing_host(const std::string& host, const std::vector<int>& hcas) {
    std::vector<std::string> holes;
    for (const int hca : hcas) holes.push_back(holes_of(hca));
    findings_.fail(
        "fabric.missing-node", host,
        {.message = fmt::format("{} is not in the subnet: none of its {} HCAs answers", host, hcas.size()),
         .expected = fmt::format("cables in {}", fmt::join(holes, ", ")),
         .observed = "no link",
         .remedy = {fmt::format("Look whether {} is powered on and has started its RDMA driver.", host)}});
  }

  void missing_hca(int planned) {
    const IbNode& node = plan_.nodes[static_cast<std::size_t>(planned)];
    const std::string holes = holes_of(planned);
    findings_.fail(
        "fabric.missing-node", name_of(node),
        {.message = holes.empty() ? fmt::format("{} is not in the subnet", name_of(node))
                                  : fmt::format("{} is not in the subnet: nothing of it is in {}, where the "
                                                "plan wants it",
                                                name_of(node), holes),
         .expected = fmt::format("{} ({})", name_of(node), guid_text(node.guid)),
         .observed = observed_of(planned),
         .remedy = {fmt::format("See that {} is on; then reseat the cable at both ends, and try another.",
                                host_of(node))}});
  }

  // Returns where the plan has the node's cables: "port 7 of leaf03".
  std::string holes_of(int planned) const {
    std::vector<std::string> holes;
    for (const IbPort& port : plan_.nodes[static_cast<std::size_t>(planned)].ports)
      if (port.peer) holes.push_back(place_of(plan_, port.peer));
    return fmt::format("{}", fmt::join(holes, " and "));
  }
  std::string observed_of(int planned) const {
    for (const IbPort& port : plan_.nodes[static_cast<std::size_t>(planned)].ports)
      if (const IbEnd hole = port.peer ? to_actual(port.peer) : IbEnd{}; hole && fabric_.port(hole).peer)
        return fmt::format("{} is there", far_end(fabric_.port(hole).peer));
    return "no link";
  }

  void unplanned_nodes() {
    for (std::size_t n = 0; n < fabric_.nodes.size(); ++n) {
      if (matching_.planned_of[n] >= 0) continue;
      const IbNode& node = fabric_.nodes[n];
      std::vector<std::string> holes;
      for (const IbPort& port : node.ports)
        if (port.peer && holes.size() < kCablesNamed) holes.push_back(place_of(fabric_, port.peer));
      findings_.warn("fabric.unplanned", name_of(node),
                     {.message = fmt::format("{} is not in the plan; it is cabled to {}", name_of(node),
                                             fmt::join(holes, ", ")),
                      .expected = "only what is planned",
                      .observed = fmt::format("{} ({})", name_of(node), guid_text(node.guid)),
                      .remedy = {"If it belongs there, write the plan anew with --learn."}});
    }
  }

  IbEnd wanted_at(const IbEnd& end) const {
    const auto found = wanted_.find(end);
    return found == wanted_.end() ? IbEnd{} : found->second;
  }
  // Returns the far end of the unplanned cable at a port; unset if there is none, or if it leads to no node
  // of the plan.
  IbEnd astray(const IbEnd& end) const {
    const IbEnd peer = fabric_.port(end).peer;
    return peer && is_planned(peer) && peer != wanted_at(end) ? peer : IbEnd{};
  }
  // Returns the planned far end of the missing cable at a port; unset if none is missing.
  IbEnd lost(const IbEnd& end) const {
    const IbEnd wanted = wanted_at(end);
    return wanted && fabric_.port(end).peer != wanted ? wanted : IbEnd{};
  }

  void chains() {
    std::set<IbEnd> ends;
    for (const auto& [end, other] : wanted_)
      if (lost(end)) ends.insert(end);
    each_cable(fabric_, [&](const IbEnd& end, const IbEnd& other) {
      if (is_planned(end) && is_planned(other) && wanted_at(end) != other) {
        ends.insert(end);
        ends.insert(other);
      }
    });
    std::set<IbEnd> done;
    // Chains first: they begin at a port with one edge. The ports that are left form rings.
    for (const bool rings : {false, true})
      for (const IbEnd& end : ends) {
        if (done.contains(end) || (!rings && lost(end) && astray(end))) continue;
        say(chain_from(end, done));
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

  void say(const Chain& chain) {
    const auto& ends = chain.ends;
    if (ends.size() == 2 && !chain.ring)
      return chain.begins_lost ? missing_cable(ends[0], ends[1]) : extra(ends[0], ends[1]);
    if (ends.size() == 3)
      return chain.begins_lost ? moved(ends[0], ends[1], ends[2]) : moved(ends[2], ends[1], ends[0]);
    if (ends.size() == 4 && chain.ring) return swapped(chain);
    mixed_up(ends);
  }

  void missing_cable(const IbEnd& ib_end, const IbEnd& other) {
    const auto state = [&](const IbEnd& end) {
      const IbPort& port = fabric_.port(end);
      return fmt::format(
          "{} {}", place_of(fabric_, end),
          port.state == IbState::kNotSaid ? "has no link" : fmt::format("is {}", word(port.state)));
    };
    findings_.fail(
        "fabric.missing-link", place_of(fabric_, ib_end),
        {.message = fmt::format("there is no link between {}, which the plan wants", cable(ib_end, other)),
         .expected = far_end(other),
         .observed = fmt::format("{}, {}", state(ib_end), state(other)),
         .remedy = {"Plug the cable in, or reseat both its ends; if it stays dark, try another."}});
  }

  void extra(const IbEnd& end, const IbEnd& other) {
    findings_.warn("fabric.unplanned", place_of(fabric_, end),
                   {.message = fmt::format("a cable between {} is not in the plan", cable(end, other)),
                    .expected = "no cable",
                    .observed = far_end(other),
                    .remedy = {"Pull it, or write the plan anew with --learn."}});
  }

  // The cable at `stays` should end in `wanted` and ends in `instead`.
  void moved(const IbEnd& wanted, const IbEnd& stays, const IbEnd& instead) {
    findings_.fail(
        "fabric.cabling", place_of(fabric_, instead),
        {.message = fmt::format("the cable of {} is in {}; the plan wants it in {}: move it there",
                                far_end(stays), place_of(fabric_, instead), place_of(fabric_, wanted)),
         .expected = place_of(fabric_, wanted),
         .observed = place_of(fabric_, instead),
         .remedy = {fmt::format("Move the cable from {} to {}.", place_of(fabric_, instead),
                                place_of(fabric_, wanted))}});
  }

  // Two pairs of holes could be exchanged; this chooses the pair that is closer together.
  void swapped(const Chain& chain) {
    std::array<IbEnd, 4> e = {chain.ends[0], chain.ends[1], chain.ends[2], chain.ends[3]};
    if (!chain.begins_lost) e = {e[1], e[2], e[3], e[0]};
    // Planned: e0–e1, e2–e3. Found: e1–e2, e3–e0.
    const auto reach = [&](const IbEnd& a, const IbEnd& b) {
      return 2 * (a.node == b.node) + (fabric_.at(a).is_switch() && fabric_.at(b).is_switch());
    };
    if (reach(e[1], e[3]) > reach(e[0], e[2])) e = {e[1], e[0], e[3], e[2]};
    if (e[2] < e[0]) e = {e[2], e[3], e[0], e[1]};
    const bool harmless = e[0].node == e[2].node && e[1].node == e[3].node;
    const IbEnd there = fabric_.port(e[0]).peer;
    const std::string other =
        e[0].node == e[2].node ? fmt::format("port {}", e[2].port) : place_of(fabric_, e[2]);
    findings_.red(
        harmless ? Status::kWarn : Status::kFail, "fabric.cabling", place_of(fabric_, e[0]),
        {.message = fmt::format("the cable in {} goes to {}; the plan wants {} there: swap it with the "
                                "cable in {}",
                                place_of(fabric_, e[0]), far_end(there), far_end(e[1]), other),
         .expected = far_end(e[1]),
         .observed = far_end(there),
         .remedy = {fmt::format("Swap the cables in {} and {}.", place_of(fabric_, e[0]),
                                place_of(fabric_, e[2]))}});
  }

  void mixed_up(const std::vector<IbEnd>& ends) {
    std::vector<std::string> cables;
    std::size_t wrong = 0;
    for (const IbEnd& end : ends) {
      const IbEnd wanted = wanted_at(end), there = fabric_.port(end).peer;
      if (!wanted || wanted == there || !fabric_.at(end).is_switch()) continue;
      ++wrong;
      if (cables.size() < kCablesNamed)
        cables.push_back(fmt::format("{} goes to {} and should go to {}", place_of(fabric_, end),
                                     there ? far_end(there) : "nothing", far_end(wanted)));
    }
    findings_.fail("fabric.cabling", place_of(fabric_, ends.front()),
                   {.message = fmt::format("{} not where the plan wants them: {}{}",
                                           count_of(wrong, "cable is", "cables are"), fmt::join(cables, "; "),
                                           wrong > cables.size() ? "; …" : ""),
                    .expected = "the plan",
                    .observed = count_of(wrong, "hole with another cable", "holes with other cables"),
                    .remedy = {"Put each of them where the plan wants it."}});
  }

  const IbFabric& fabric_;
  const IbFabric& plan_;
  FabricFindings& findings_;
  Matching matching_;
  std::map<IbEnd, IbEnd> wanted_;  // planned cables between ports that exist; both directions
  PlannedLinks links_;
};

}  // namespace

PlannedLinks judge_cabling(const FabricEvidence& evidence, FabricFindings& findings) {
  constexpr std::array<std::string_view, 5> kRules = {
      "fabric.missing-node", "fabric.missing-link", "fabric.cabling", "fabric.unplanned", "fabric.replaced"};
  if (!evidence.plan) {
    for (const std::string_view rule : kRules)
      if (rule != "fabric.missing-node" || evidence.hosts.empty())
        findings.calm(Status::kNotApplicable, rule, "no plan: --plan names one, --learn writes one");
    return {};
  }
  PlannedLinks links = Cabling(evidence, findings).judge();
  for (const std::string_view rule : kRules) findings.pass_unless_red(rule, "as planned");
  return links;
}

void judge_hosts(const FabricEvidence& evidence, FabricFindings& findings) {
  if (evidence.hosts.empty()) return;
  std::set<std::string> there;
  for (const IbNode& node : evidence.fabric.nodes) {
    const std::string name = host_of(node);
    there.insert(name);
    there.insert(name.substr(0, name.find('.')));
  }
  for (const std::string& host : evidence.hosts) {
    const auto said = [&](const Finding& finding) {
      return finding.rule == "fabric.missing-node" && finding.status == Status::kFail &&
             (finding.subject == host || finding.subject.starts_with(host + " "));
    };
    if (there.contains(host) || std::ranges::any_of(findings.list(), said)) continue;
    findings.fail(
        "fabric.missing-node", host,
        {.message = fmt::format("{} of cluster.yaml has no HCA in this subnet", host),
         .expected = fmt::format("an HCA that calls itself {}", host),
         .observed = "none",
         .remedy = {fmt::format("See that {} is on and cabled, and that its HCAs call themselves \"{} "
                                "DEVICE\" (rdma-ndd does that).",
                                host, host)}});
  }
  findings.pass_unless_red("fabric.missing-node", "every node of cluster.yaml is in it");
}

}  // namespace railbed

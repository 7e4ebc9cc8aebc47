// Rules on regularity: a fat tree has the same cables everywhere, rails have
// the same device on a leaf, and switches of a kind have the same make.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/wording.h"
#include "fabric/fabric_rules.h"

namespace railbed {
namespace {

// Returns the most frequent value if more than half of the keys have it and
// there are at least three keys; else null. The pointer points into `values`.
template <class Key, class Value>
const Value* majority(const std::map<Key, Value>& values) {
  std::map<Value, std::size_t> count;
  for (const auto& [key, value] : values) ++count[value];
  if (values.size() < 3) return nullptr;
  const auto most = std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  if (most->second * 2 <= values.size()) return nullptr;
  for (const auto& [key, value] : values)
    if (value == most->first) return &value;
  return nullptr;
}

const IbNode& node_of(const FabricView& view, int node) {
  return view.fabric.nodes[static_cast<std::size_t>(node)];
}

int level_of(const FabricView& view, int node) { return view.layout.level[static_cast<std::size_t>(node)]; }

// A switch's cables up: their number by the switch above, and where each port
// leads.
struct Uplinks {
  std::map<int, int> count;
  std::map<int, int> at_port;
  int total = 0;
};

// Returns the cables up of each switch of a level.
std::map<int, Uplinks> uplinks_of(const FabricView& view, int level) {
  std::map<int, Uplinks> all;
  for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n) {
    if (view.layout.level[n] != level) continue;
    Uplinks& up = all[static_cast<int>(n)];
    for (const IbPort& port : view.fabric.nodes[n].ports) {
      if (!port.peer || level_of(view, port.peer.node) != level + 1) continue;
      ++up.count[port.peer.node];
      up.at_port[port.number] = port.peer.node;
      ++up.total;
    }
  }
  return all;
}

// The switches beside one: of the same level, and below at least half of the
// same switches.
std::vector<const Uplinks*> beside(const std::map<int, Uplinks>& all, int node) {
  const Uplinks& own = all.at(node);
  std::vector<const Uplinks*> found;
  for (const auto& one : all) {
    const Uplinks& up = one.second;
    const auto shared = std::ranges::count_if(
        own.count, [&up](const auto& cables) { return up.count.contains(cables.first); });
    if (one.first != node && 2 * static_cast<std::size_t>(shared) >= own.count.size() && up.total > 0)
      found.push_back(&up);
  }
  return found;
}

// The numbers of cables to each switch above that most switches beside have,
// the lowest first.
std::vector<int> pattern_of(const Uplinks& up, const std::vector<int>& above) {
  std::vector<int> pattern;
  for (const int node : above) pattern.push_back(up.count.contains(node) ? up.count.at(node) : 0);
  std::ranges::sort(pattern);
  return pattern;
}
int sum_of(const std::vector<int>& pattern) { return std::accumulate(pattern.begin(), pattern.end(), 0); }
int spread_of(const std::vector<int>& pattern) {
  return pattern.empty() ? 0 : pattern.back() - pattern.front();
}

// Returns the switches above to which at least half of these switches have a
// cable. A cable of one switch that is in a wrong hole adds none.
std::vector<int> common_above(const Uplinks& own, const std::vector<const Uplinks*>& others) {
  std::map<int, std::size_t> count;
  for (const auto& [node, cables] : own.count) ++count[node];
  for (const Uplinks* other : others)
    for (const auto& [node, cables] : other->count) ++count[node];
  std::vector<int> above;
  for (const auto& [node, many] : count)
    if (2 * many >= others.size() + 1) above.push_back(node);
  return above;
}

// Returns the pattern that more than half of the switches beside have; null if
// they differ.
std::optional<std::vector<int>> usual_pattern(const std::vector<const Uplinks*>& others,
                                              const std::vector<int>& above) {
  std::map<std::vector<int>, std::size_t> count;
  for (const Uplinks* other : others) ++count[pattern_of(*other, above)];
  const auto most = std::ranges::max_element(count, {}, [](const auto& one) { return one.second; });
  if (most == count.end() || 2 * most->second <= others.size()) return std::nullopt;
  return most->first;
}

// True if a switch has fewer cables up on purpose, as a leaf of storage may:
// equally many to each switch above, or below a single one at most half of the
// usual number.
bool is_thin(const std::vector<int>& own, int usual) {
  if (own.size() > 1) return own.front() > 0 && spread_of(own) == 0;
  return 2 * sum_of(own) <= usual;
}

// A switch whose cables up are fewer than those of the switches beside it, or
// spread less evenly.
struct LackingSwitch {
  int node = 0;
  int has = 0;
  int usual = 0;
  std::string where;  // the ports and the switches above at which cables are
                      // missing; empty if unknown
};

// Names up to three dark ports that lead up on most switches beside; without
// such ports, the switches above to which there are fewer cables than to
// others.
std::string missing_ways(const FabricView& view, int node, const Uplinks& own,
                         const std::vector<const Uplinks*>& others, const std::vector<int>& above, int most) {
  std::map<int, std::map<int, std::size_t>> leads;  // by port and the switch above
  for (const Uplinks* other : others)
    for (const auto& [port, to] : other->at_port) ++leads[port][to];
  std::vector<std::string> ways;
  for (const auto& [port, to] : leads) {
    const IbNode& here = node_of(view, node);
    if (ways.size() == 3 || port > here.last_port() || here.ports[static_cast<std::size_t>(port)].peer)
      continue;
    const auto usual = std::ranges::max_element(to, {}, [](const auto& one) { return one.second; });
    if (2 * usual->second <= others.size()) continue;
    ways.push_back(fmt::format("port {} is dark, which goes to {} on the others", port,
                               name_of(node_of(view, usual->first))));
  }
  const std::size_t dark = ways.size();
  for (const int to : above) {
    const int has = own.count.contains(to) ? own.count.at(to) : 0;
    if (dark == 0 && ways.size() < 3 && has < most)
      ways.push_back(fmt::format("{} to {} instead of {}", has, name_of(node_of(view, to)), most));
  }
  return fmt::format("{}", fmt::join(ways, ", "));
}

// Returns the switches that lack cables up, by the switches beside each: a hole
// shows as cables that are fewer than theirs, or spread less evenly.
std::vector<LackingSwitch> lacking_switches(const FabricView& view) {
  std::vector<LackingSwitch> lacking;
  for (int level = 1; level < view.layout.top; ++level) {
    const std::map<int, Uplinks> all = uplinks_of(view, level);
    for (const auto& [node, own] : all) {
      const auto others = beside(all, node);
      const auto above = common_above(own, others);
      const auto usual = usual_pattern(others, above);
      if (!usual) continue;
      const std::vector<int> pattern = pattern_of(own, above);
      const bool fewer = own.total < sum_of(*usual) && !is_thin(pattern, sum_of(*usual));
      const bool uneven = own.total == sum_of(*usual) && spread_of(pattern) > spread_of(*usual);
      if (fewer || uneven)
        lacking.push_back(
            {node, own.total, sum_of(*usual),
             missing_ways(view, node, own, others, above, spread_of(*usual) == 0 ? usual->back() : 0)});
    }
  }
  return lacking;
}

// Ends the rule as not applicable and returns true if the subnet is no fat
// tree.
bool is_no_tree(const FabricView& view, Judge& judge) {
  const bool tree = view.layout.shape == IbShape::kFatTree;
  if (!tree) on_subnet(view, judge).not_applicable("it is no fat tree");
  return !tree;
}

void judge_uplinks(const FabricView& view, Judge& judge) {
  if (is_no_tree(view, judge)) return;
  if (view.compared) return on_subnet(view, judge).not_applicable("the plan has the cables that are wanted");
  for (const LackingSwitch& lacking : lacking_switches(view)) {
    const std::string name = name_of(node_of(view, lacking.node));
    const std::string how =
        lacking.has < lacking.usual
            ? fmt::format("{} has {} up, the switches beside it have {}", name,
                          counted(static_cast<std::size_t>(lacking.has), "cable"), lacking.usual)
            : fmt::format(
                  "{} spreads its {} cables up less evenly than the "
                  "switches beside it",
                  name, lacking.has);
    on_part(view, judge, name)
        .warn({.message = fmt::format("{}{}{}", how, lacking.where.empty() ? "" : ": ", lacking.where),
               .expected = fmt::format("{} cables up", lacking.usual),
               .observed = fmt::format("{}", lacking.has),
               .remedy = {"Look at its dark ports: a cable is out, in another "
                          "hole, or an end of it is dead."}});
  }
  pass_unless_found(view, judge, "every switch has as many cables up as the others of its level");
}

// Returns the ratio in hundredths, so that equal ratios compare as equal.
long ratio_of(double down, double up) { return up > 0 ? std::lround(down / up * 100) : 0; }

// Bandwidth of a leaf in Gb/s, to HCAs and to switches above.
struct Capacity {
  double down = 0, up = 0;
  double lost = 0;  // by cables up that are slower than they should be
  Things slow;      // the ports at which fabric.width and fabric.speed report those
                    // cables
  long ratio() const { return ratio_of(down, up); }
  long ratio_of_whole_cables() const { return ratio_of(down, up + lost); }
};

std::map<int, Capacity> capacities(const FabricView& view) {
  std::map<int, Capacity> leaves;
  for (const IbCable& cable : view.cables) {
    const IbLink& link = view.fabric.port(cable.end).active;
    const double carries = link.width > 0 ? link.gigabits() : view.fabric.port(cable.other).active.gigabits();
    const double lost = cable.lost_gigabits(view.fabric);
    for (const auto& [here, there] : {std::pair{cable.end, cable.other}, std::pair{cable.other, cable.end}}) {
      if (view.layout.level[static_cast<std::size_t>(here.node)] != 1) continue;
      const int to = view.layout.level[static_cast<std::size_t>(there.node)];
      if (to == 0) leaves[here.node].down += carries;
      if (to <= 1) continue;
      Capacity& leaf = leaves[here.node];
      leaf.up += carries;
      leaf.lost += lost;
      if (lost > 0) leaf.slow.add(thing_of(view, cable.end));
    }
  }
  return leaves;
}

// Warns of the leaves whose ratio exceeds the limit: --oversubscription, or
// else the ratio of most leaves. With a plan and without that option there is
// no limit. Leaves that lack cables are reported for that, and not for their
// ratio, unless the option is given. Slow cables explain a ratio that would be
// within the limit if they were as fast as they should be.
void judge_oversubscription(const FabricView& view, Judge& judge) {
  if (is_no_tree(view, judge)) return;
  const std::optional<double>& option = view.evidence.oversubscription;
  const auto leaves = capacities(view);
  std::map<int, long> ratios;
  long worst = 0;
  for (const auto& [node, capacity] : leaves) {
    ratios[node] = capacity.ratio();
    worst = std::max(worst, ratios[node]);
  }
  const long* usual = majority(ratios);
  const long allowed = option                              ? std::lround(*option * 100)
                       : view.compared || usual == nullptr ? worst
                                                           : *usual;
  const auto lacking = option ? std::vector<LackingSwitch>{} : lacking_switches(view);
  for (const auto& [node, ratio] : ratios) {
    if (ratio <= allowed || std::ranges::find(lacking, node, &LackingSwitch::node) != lacking.end()) continue;
    const std::string name = name_of(node_of(view, node));
    const Capacity& capacity = leaves.at(node);
    const double hundredth = 0.01;
    on_part(view, judge, name, capacity.ratio_of_whole_cables() <= allowed ? capacity.slow : Things{})
        .warn({.message = fmt::format("{} has {:g} Gb/s of HCAs and {:g} Gb/s up, {:g}:1", name,
                                      capacity.down, capacity.up, static_cast<double>(ratio) * hundredth),
               .expected = fmt::format("at most {:g}:1{}", static_cast<double>(allowed) * hundredth,
                                       option ? "" : ", as most leaves"),
               .observed = fmt::format("{:g}:1", static_cast<double>(ratio) * hundredth),
               .remedy = {"Add cables up, or spread its HCAs over other leaves."}});
  }
  pass_unless_found(view, judge, fmt::format("{:g}:1 at most", static_cast<double>(worst) / 100));
}

// An HCA that is on another leaf than the same device of the hosts beside it.
struct Crossed {
  std::string device;
  int leaf = 0;
  int usual = 0;
  int votes = 0;  // number of hosts that have it on the usual leaf
};

// Returns them by host, which has one mistake: mostly two of its cables are
// exchanged.
std::map<std::string, std::vector<Crossed>> crossed_hosts(const FabricView& view) {
  std::map<std::string, std::vector<Crossed>> hosts;
  for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n) {
    const int usual = view.layout.usual_leaf[n];
    if (usual < 0) continue;
    const IbNode& hca = view.fabric.nodes[n];
    const auto port = std::ranges::find_if(hca.ports, [](const IbPort& one) { return bool(one.peer); });
    if (port->peer.node != usual)
      hosts[host_of(hca)].push_back({device_of(hca), port->peer.node, usual, view.layout.usual_votes[n]});
  }
  for (auto& [host, crossed] : hosts) std::ranges::sort(crossed, {}, &Crossed::device);
  return hosts;
}

void judge_rails(const FabricView& view, Judge& judge) {
  const auto hosts = crossed_hosts(view);
  if (hosts.empty() && !view.layout.rails)
    return on_subnet(view, judge).not_applicable("hosts are not cabled in rails");
  // Of two hosts that differ nobody knows which is right: one finding for both.
  bool pair = false;
  for (const auto& [host, crossed] : hosts) {
    if (crossed.front().votes == 1 && std::exchange(pair, true)) continue;
    std::vector<std::string> places, wanted;
    for (const Crossed& one : crossed) {
      places.push_back(fmt::format("{} on {}", one.device, name_of(node_of(view, one.leaf))));
      wanted.push_back(fmt::format("{} on {}", one.device, name_of(node_of(view, one.usual))));
    }
    const std::string has = fmt::format("{}", fmt::join(places, ", "));
    const std::string usual = fmt::format("{}", fmt::join(wanted, ", "));
    const bool unsure = crossed.front().votes == 1;
    on_part(view, judge, host)
        .warn({.message = unsure ? fmt::format("{} has {}, the host beside it "
                                               "has {}: one of the two is cabled "
                                               "across rails",
                                               host, has, usual)
                                 : fmt::format("{} has {}, the hosts beside it "
                                               "have {}: it is on another's rail",
                                               host, has, usual),
               .expected = usual,
               .observed = has,
               .remedy = {crossed.size() == 2
                              ? fmt::format("Swap the cables of {} {} and {}{}.", host, crossed[0].device,
                                            crossed[1].device, unsure ? ", or those of the other host" : "")
                              : "Move each cable to the leaf of its rail."}});
  }
  pass_unless_found(view, judge, "each host has the same device on a leaf");
}

void judge_switches(const FabricView& view, Judge& judge) {
  std::map<std::pair<int, int>, std::map<int, std::pair<unsigned, unsigned>>> kinds;  // by level and ports
  for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n)
    if (const IbNode& node = view.fabric.nodes[n]; node.is_switch())
      kinds[{view.layout.level[n], node.last_port()}][static_cast<int>(n)] = {node.device, node.revision};
  const auto text = [](const std::pair<unsigned, unsigned>& made) {
    return fmt::format("device 0x{:x} revision 0x{:x}", made.first, made.second);
  };
  for (const auto& [kind, switches] : kinds) {
    const auto* usual = majority(switches);
    if (usual == nullptr) continue;
    for (const auto& [node, made] : switches) {
      if (made == *usual) continue;
      const std::string name = name_of(node_of(view, node));
      on_part(view, judge, name)
          .warn({.message = fmt::format("{} is {}, the other switches of its level are {}", name, text(made),
                                        text(*usual)),
                 .expected = text(*usual),
                 .observed = text(made),
                 .remedy = {"See that it may be mixed with the others, and "
                            "that its firmware is as new as theirs."}});
    }
  }
  pass_unless_found(view, judge, "switches of a level are alike");
}

}  // namespace

std::span<const Rule> ib_tree_rules() {
  static const Rule kRules[] = {
      {.id = "fabric.incomplete",
       .title = "A tree has as many cables up everywhere",
       .why = "Routes crowd on the cables that are left.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "As the switches beside it, below the same switches; with a "
                   "plan, the plan",
       .remedy = "Look at the dark ports.",
       .fixture = "leaf-lacks-cable",
       .explained_by = {},
       .check = judge_uplinks},
      {.id = "fabric.oversubscription",
       .title = "Leaves carry up what comes from below",
       .why = "Jobs over several leaves share what is less.",
       .source = "PortInfo of both ends, or a dump of ibnetdiscover",
       .standard = "--oversubscription; else as most leaves, or the plan",
       .remedy = "Add cables to the spines, or connect fewer HCAs.",
       .fixture = "crowded-leaf",
       .explained_by = {"fabric.width", "fabric.speed"},
       .check = judge_oversubscription},
      {.id = "fabric.rails",
       .title = "Each leaf has the same device of every host",
       .why = "A rail that crosses to another leaf shares the spines with "
              "everybody.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of "
                 "ibnetdiscover",
       .standard = "Two thirds of the hosts with the same devices on the same leaves",
       .remedy = "Move the cable to its own rail's leaf.",
       .fixture = "crossed-rails",
       .explained_by = {},
       .check = judge_rails},
      {.id = "fabric.odd-switch",
       .title = "Switches of a level are alike",
       .why = "Another device or revision has other limits and other firmware.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of "
                 "ibnetdiscover",
       .standard = "As most of the level",
       .remedy = "See whether its maker lets it be mixed with the others.",
       .fixture = "odd-leaf",
       .explained_by = {},
       .check = judge_switches},
  };
  return kRules;
}

}  // namespace railbed

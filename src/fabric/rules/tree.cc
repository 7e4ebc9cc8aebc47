// Rules on regularity: a fat tree has the same cables everywhere, rails have the same device on a leaf, and
// switches of a kind have the same make.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fabric/fabric_rules.h"

namespace railbed {
namespace {

// Returns the most frequent value if more than half of the keys have it and there are at least three keys;
// else null. The pointer points into `values`.
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

// The number of cables between a switch and one above it, by that pair, for two neighboring levels.
using CableCounts = std::map<std::pair<int, int>, int>;

CableCounts cables_up(const FabricView& view, int level) {
  CableCounts counts;
  for (const IbCable& cable : view.cables) {
    const int from = cable.end.node, to = cable.other.node;
    const int a = view.layout.level[static_cast<std::size_t>(from)];
    const int b = view.layout.level[static_cast<std::size_t>(to)];
    if (std::min(a, b) != level || std::max(a, b) != level + 1) continue;
    ++counts[a < b ? std::pair{from, to} : std::pair{to, from}];
  }
  return counts;
}

const IbNode& node_of(const FabricView& view, int node) {
  return view.fabric.nodes[static_cast<std::size_t>(node)];
}

// A switch with fewer cables up than most switches of its level.
struct LackingSwitch {
  int node = 0;
  int has = 0;
  int usual = 0;
  std::string where;  // the switches above to which cables are missing; empty if unknown
};

// Names up to three switches above to which a switch has fewer cables than usual.
std::string missing_ways(const FabricView& view, const CableCounts& counts, int node, int usual) {
  std::vector<std::string> ways;
  for (std::size_t n = 0; n < view.fabric.nodes.size() && ways.size() < 3; ++n) {
    if (view.layout.level[n] != 2) continue;
    const auto found = counts.find({node, static_cast<int>(n)});
    const int has = found == counts.end() ? 0 : found->second;
    if (has < usual)
      ways.push_back(fmt::format("{} to {} instead of {}", has, name_of(view.fabric.nodes[n]), usual));
  }
  return fmt::format("{}", fmt::join(ways, ", "));
}

// Returns the switches that lack cables up. With two levels every leaf has the same cables to every spine; with
// more, every switch of a level has the same number of cables up. The majority sets the standard.
std::vector<LackingSwitch> lacking_switches(const FabricView& view) {
  std::vector<LackingSwitch> lacking;
  for (int level = 1; level < view.layout.top; ++level) {
    const CableCounts counts = cables_up(view, level);
    std::map<int, int> up;
    for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n)
      if (view.layout.level[n] == level) up[static_cast<int>(n)] = 0;
    for (const auto& [pair, count] : counts) up[pair.first] += count;
    const int* usual = majority(up);
    if (usual == nullptr) continue;
    const int* usual_pair = view.layout.top == 2 ? majority(counts) : nullptr;
    for (const auto& [node, count] : up)
      if (count < *usual)
        lacking.push_back({node, count, *usual,
                           usual_pair == nullptr ? "" : missing_ways(view, counts, node, *usual_pair)});
  }
  return lacking;
}

// Ends the rule as not applicable and returns true if the subnet is no fat tree.
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
    on_part(view, judge, name)
        .warn({.message =
                   fmt::format("{} has {} cables up, most switches of its level have {}{}{}", name,
                               lacking.has, lacking.usual, lacking.where.empty() ? "" : ": ", lacking.where),
               .expected = fmt::format("{} cables up", lacking.usual),
               .observed = fmt::format("{}", lacking.has),
               .remedy = {"Look at its dark ports: a cable is out, or an end of it is dead."}});
  }
  pass_unless_found(view, judge, "every switch has as many cables up as the others of its level");
}

// Returns the ratio in hundredths, so that equal ratios compare as equal.
long ratio_of(double down, double up) { return up > 0 ? std::lround(down / up * 100) : 0; }

// Bandwidth of a leaf in Gb/s, to HCAs and to switches above.
struct Capacity {
  double down = 0, up = 0;
  double lost = 0;  // by cables up that are slower than they should be
  Things slow;      // the ports at which fabric.width and fabric.speed report those cables
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

// Warns of the leaves whose ratio exceeds the limit: --oversubscription, or else the ratio of most leaves.
// With a plan and without that option there is no limit. Leaves that lack cables are reported for that, and not
// for their ratio, unless the option is given. Slow cables explain a ratio that would be within the limit if they
// were as fast as they should be.
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

void judge_rails(const FabricView& view, Judge& judge) {
  if (!view.layout.rails) return on_subnet(view, judge).not_applicable("leaves are not arranged in rails");
  for (std::size_t n = 0; n < view.fabric.nodes.size(); ++n) {
    const IbNode& leaf = view.fabric.nodes[n];
    const std::string& rail = view.layout.leaf_device[n];
    if (view.layout.level[n] != 1 || rail.empty()) continue;
    for (const IbPort& port : leaf.ports) {
      if (!port.peer || !view.fabric.at(port.peer).is_hca()) continue;
      const IbNode& hca = view.fabric.at(port.peer);
      const std::string device = device_of(hca);
      if (device.empty() || device == rail) continue;
      on_part(view, judge, name_of(hca))
          .warn(
              {.message = fmt::format("{} is on {}, whose other HCAs are all {}: it is on another's rail",
                                      name_of(hca), name_of(leaf), rail),
               .expected = rail,
               .observed = device,
               .remedy = {fmt::format("Move its cable to the leaf of {}, or swap it with the cable of {} {}.",
                                      device, host_of(hca), rail)}});
    }
  }
  pass_unless_found(view, judge, "each leaf has one device of each host");
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
          .warn(
              {.message = fmt::format("{} is {}, the other switches of its level are {}", name, text(made),
                                      text(*usual)),
               .expected = text(*usual),
               .observed = text(made),
               .remedy = {
                   "See that it may be mixed with the others, and that its firmware is as new as theirs."}});
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
       .standard = "As most switches of the level; with a plan, the plan",
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
       .why = "A rail that crosses to another leaf shares the spines with everybody.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of ibnetdiscover",
       .standard = "The device that two thirds of a leaf's HCAs are",
       .remedy = "Move the cable to its own rail's leaf.",
       .fixture = "crossed-rails",
       .explained_by = {},
       .check = judge_rails},
      {.id = "fabric.odd-switch",
       .title = "Switches of a level are alike",
       .why = "Another device or revision has other limits and other firmware.",
       .source = "NodeInfo and NodeDescription of every node, or a dump of ibnetdiscover",
       .standard = "As most of the level",
       .remedy = "See whether its maker lets it be mixed with the others.",
       .fixture = "odd-leaf",
       .explained_by = {},
       .check = judge_switches},
  };
  return kRules;
}

}  // namespace railbed

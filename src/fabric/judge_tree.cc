// Rules on regularity: a fat tree has the same cables everywhere, rails have the same device on a leaf, and
// switches of a kind have the same make.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "fabric/judging.h"

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

CableCounts cables_up(const IbFabric& fabric, const IbLayout& layout, int level) {
  CableCounts counts;
  each_cable(fabric, [&](const IbEnd& end, const IbEnd& other) {
    const int a = layout.level[static_cast<std::size_t>(end.node)];
    const int b = layout.level[static_cast<std::size_t>(other.node)];
    if (std::min(a, b) != level || std::max(a, b) != level + 1) return;
    ++counts[a < b ? std::pair{end.node, other.node} : std::pair{other.node, end.node}];
  });
  return counts;
}

// Reports the switches that lack cables up, and returns them. With two levels every leaf has the same cables
// to every spine; with more, every switch of a level has the same number of cables up. The majority sets the
// standard.
std::vector<int> incomplete(const IbFabric& fabric, const IbLayout& layout, FabricFindings& findings) {
  std::vector<int> lacking;
  for (int level = 1; level < layout.top; ++level) {
    const CableCounts counts = cables_up(fabric, layout, level);
    std::map<int, int> up;
    for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
      if (layout.level[n] == level) up[static_cast<int>(n)] = 0;
    for (const auto& [pair, count] : counts) up[pair.first] += count;
    const int* usual = majority(up);
    if (usual == nullptr) continue;
    const int* usual_pair = layout.top == 2 ? majority(counts) : nullptr;
    for (const auto& [node, count] : up) {
      if (count >= *usual) continue;
      lacking.push_back(node);
      std::vector<std::string> where;
      if (usual_pair != nullptr)
        for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
          if (layout.level[n] == 2) {
            const auto found = counts.find({node, static_cast<int>(n)});
            const int has = found == counts.end() ? 0 : found->second;
            if (has < *usual_pair && where.size() < 3)
              where.push_back(
                  fmt::format("{} to {} instead of {}", has, name_of(fabric.nodes[n]), *usual_pair));
          }
      const std::string name = name_of(fabric.nodes[static_cast<std::size_t>(node)]);
      findings.warn(
          "fabric.incomplete", name,
          {.message = fmt::format("{} has {} cables up, most switches of its level have {}{}{}", name, count,
                                  *usual, where.empty() ? "" : ": ", fmt::join(where, ", ")),
           .expected = fmt::format("{} cables up", *usual),
           .observed = fmt::format("{}", count),
           .remedy = {"Look at its dark ports: a cable is out, or an end of it is dead."}});
    }
  }
  return lacking;
}

// Bandwidth of a leaf in Gb/s, to HCAs and to switches above.
struct Capacity {
  double down = 0, up = 0;
  double ratio() const { return up > 0 ? down / up : 0; }
};

std::map<int, Capacity> capacities(const IbFabric& fabric, const IbLayout& layout) {
  std::map<int, Capacity> leaves;
  each_cable(fabric, [&](const IbEnd& end, const IbEnd& other) {
    const double carries = fabric.port(end).active.width > 0 ? fabric.port(end).active.gigabits()
                                                             : fabric.port(other).active.gigabits();
    for (const auto& [here, there] : {std::pair{end, other}, std::pair{other, end}}) {
      if (layout.level[static_cast<std::size_t>(here.node)] != 1) continue;
      const int to = layout.level[static_cast<std::size_t>(there.node)];
      if (to == 0) leaves[here.node].down += carries;
      if (to > 1) leaves[here.node].up += carries;
    }
  });
  return leaves;
}

// Returns the finding about a slow cable up without which the leaf would be within the limit (in hundredths);
// nullopt if slow cables do not explain its ratio.
std::optional<std::size_t> slow_cable_of(int leaf, const Capacity& capacity, long allowed,
                                         const IbLayout& layout, const FabricFindings& findings) {
  Capacity whole = capacity;
  std::optional<std::size_t> finding;
  for (const auto& cable : findings.slow_cables())
    for (const auto& [here, there] : {std::pair{cable.one, cable.other}, std::pair{cable.other, cable.one}}) {
      if (here.node != leaf || layout.level[static_cast<std::size_t>(there.node)] < 2) continue;
      whole.up += cable.lost;
      if (!finding) finding = cable.finding;
    }
  return std::lround(whole.ratio() * 100) <= allowed ? finding : std::nullopt;
}

// Reports the leaves whose ratio exceeds the limit: --oversubscription, or else the ratio of most leaves.
// With a plan and without that option there is no limit. Leaves that lack cables were reported before and are
// not reported again, unless the option is given.
void oversubscription(const FabricEvidence& evidence, const IbLayout& layout, const std::vector<int>& lacking,
                      FabricFindings& findings) {
  const IbFabric& fabric = evidence.fabric;
  const auto leaves = capacities(fabric, layout);
  std::map<int, long> ratios;  // in hundredths, so that equal ratios compare as equal
  long worst = 0;
  for (const auto& [node, capacity] : leaves) {
    ratios[node] = std::lround(capacity.ratio() * 100);
    worst = std::max(worst, ratios[node]);
  }
  const long* usual = majority(ratios);
  const long allowed = evidence.oversubscription           ? std::lround(*evidence.oversubscription * 100)
                       : evidence.plan || usual == nullptr ? worst
                                                           : *usual;
  for (const auto& [node, ratio] : ratios) {
    const bool explained = !evidence.oversubscription && std::ranges::find(lacking, node) != lacking.end();
    if (ratio <= allowed || explained) continue;
    const std::string name = name_of(fabric.nodes[static_cast<std::size_t>(node)]);
    const Capacity& capacity = leaves.at(node);
    const double hundredth = 0.01;
    findings.warn("fabric.oversubscription", name,
                  {.message = fmt::format("{} has {:g} Gb/s of HCAs and {:g} Gb/s up, {:g}:1", name,
                                          capacity.down, capacity.up, static_cast<double>(ratio) * hundredth),
                   .expected = fmt::format("at most {:g}:1{}", static_cast<double>(allowed) * hundredth,
                                           evidence.oversubscription ? "" : ", as most leaves"),
                   .observed = fmt::format("{:g}:1", static_cast<double>(ratio) * hundredth),
                   .remedy = {"Add cables up, or spread its HCAs over other leaves."}});
    findings.list().back().caused_by = slow_cable_of(node, capacity, allowed, layout, findings);
  }
  findings.pass_unless_red("fabric.oversubscription",
                           fmt::format("{:g}:1 at most", static_cast<double>(worst) / 100));
}

void rails(const IbFabric& fabric, const IbLayout& layout, FabricFindings& findings) {
  if (!layout.rails)
    return findings.calm(Status::kNotApplicable, "fabric.rails", "leaves are not arranged in rails");
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n) {
    const std::string& rail = layout.leaf_device[n];
    if (layout.level[n] != 1 || rail.empty()) continue;
    for (const IbPort& port : fabric.nodes[n].ports) {
      if (!port.peer || !fabric.at(port.peer).is_hca()) continue;
      const IbNode& hca = fabric.at(port.peer);
      const std::string device = device_of(hca);
      if (device.empty() || device == rail) continue;
      findings.warn(
          "fabric.rails", name_of(hca),
          {.message = fmt::format("{} is on {}, whose other HCAs are all {}: it is on another's rail",
                                  name_of(hca), name_of(fabric.nodes[n]), rail),
           .expected = rail,
           .observed = device,
           .remedy = {fmt::format("Move its cable to the leaf of {}, or swap it with the cable of {} {}.",
                                  device, host_of(hca), rail)}});
    }
  }
  findings.pass_unless_red("fabric.rails", "each leaf has one device of each host");
}

void odd_switches(const IbFabric& fabric, const IbLayout& layout, FabricFindings& findings) {
  std::map<std::pair<int, int>, std::map<int, std::pair<unsigned, unsigned>>> kinds;  // by level and ports
  for (std::size_t n = 0; n < fabric.nodes.size(); ++n)
    if (const IbNode& node = fabric.nodes[n]; node.is_switch())
      kinds[{layout.level[n], node.last_port()}][static_cast<int>(n)] = {node.device, node.revision};
  for (const auto& [kind, switches] : kinds) {
    const auto* usual = majority(switches);
    if (usual == nullptr) continue;
    for (const auto& [node, made] : switches) {
      if (made == *usual) continue;
      const std::string name = name_of(fabric.nodes[static_cast<std::size_t>(node)]);
      const auto text = [](const std::pair<unsigned, unsigned>& one) {
        return fmt::format("device 0x{:x} revision 0x{:x}", one.first, one.second);
      };
      findings.warn(
          "fabric.odd-switch", name,
          {.message = fmt::format("{} is {}, the other switches of its level are {}", name, text(made),
                                  text(*usual)),
           .expected = text(*usual),
           .observed = text(made),
           .remedy = {
               "See that it may be mixed with the others, and that its firmware is as new as theirs."}});
    }
  }
  findings.pass_unless_red("fabric.odd-switch", "switches of a level are alike");
}

}  // namespace

void judge_tree(const FabricEvidence& evidence, const IbLayout& layout, FabricFindings& findings) {
  odd_switches(evidence.fabric, layout, findings);
  rails(evidence.fabric, layout, findings);
  if (layout.shape != IbShape::kFatTree) {
    for (const std::string_view rule : {"fabric.incomplete", "fabric.oversubscription"})
      findings.calm(Status::kNotApplicable, rule, "it is no fat tree");
    return;
  }
  std::vector<int> lacking;
  if (evidence.plan) {
    findings.calm(Status::kNotApplicable, "fabric.incomplete", "the plan says which cables should be there");
  } else {
    lacking = incomplete(evidence.fabric, layout, findings);
    findings.pass_unless_red("fabric.incomplete",
                             "every switch has as many cables up as the others of its level");
  }
  oversubscription(evidence, layout, lacking, findings);
}

}  // namespace railbed

#include "fabric/judge.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/judging.h"

namespace railbed {

std::vector<std::string> infiniband_hosts(const Cluster& cluster) {
  std::vector<std::string> hosts;
  for (const Node& node : cluster.nodes) {
    const auto reaches = [&](const Rail& rail) {
      return rail.fabric == Fabric::kInfiniband &&
             std::ranges::find(rail.ports, node.name, &RailPort::node) != rail.ports.end();
    };
    if (std::ranges::any_of(cluster.rails, reaches)) hosts.push_back(node.name);
  }
  return hosts;
}

std::vector<Finding> judge_fabric(const FabricEvidence& evidence) {
  FabricFindings findings(evidence.from);
  const IbLayout layout = layout_of(evidence.fabric);
  const PlannedLinks planned = judge_cabling(evidence, findings);
  judge_hosts(evidence, findings);
  judge_links(evidence, layout, planned, findings);
  judge_identities(evidence, findings);
  judge_managers(evidence, findings);
  judge_states(evidence, findings);
  judge_tree(evidence, layout, findings);
  judge_counters(evidence, findings);
  return std::move(findings.list());
}

Verdict verify_fabric(const FabricEvidence& evidence) {
  Findings::Blocks blocks(1);
  auto& found = blocks.front() = judge_fabric(evidence);
  // Worst first; a finding follows the one that explains it. (put_in_order() is for the rules of nodes.)
  std::vector<std::size_t> order(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto rank = [&](std::size_t i) {
    const std::size_t root = found[i].caused_by.value_or(i);
    return std::tuple(severity(found[root].status), root, i != root);
  };
  std::ranges::stable_sort(order, {}, rank);
  std::vector<std::size_t> place(order.size());
  std::vector<Finding*> sorted;
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[order[k]] = k;
    sorted.push_back(&found[order[k]]);
  }
  for (Finding& finding : found)
    if (finding.caused_by) finding.caused_by = place[*finding.caused_by];
  return {Findings(std::move(blocks), std::move(sorted))};
}

}  // namespace railbed

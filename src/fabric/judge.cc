#include "fabric/judge.h"

#include <algorithm>

#include "fabric/fabric_rules.h"
#include "verify/engine.h"

namespace railbed {

std::span<const Rule> subnet_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const auto& area :
         {ib_cabling_rules(), ib_link_rules(), ib_subnet_rules(), ib_counter_rules(), ib_tree_rules()})
      all.insert(all.end(), area.begin(), area.end());
    return all;
  }();
  return rules;
}

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

namespace {

Verdict judge(std::span<const Rule> rules, const FabricEvidence& evidence) {
  const FabricView view(evidence);
  return verdict_of(run_rules(rules, view, {.nodes = view.fabric.nodes.size()}, Keep::kAll), rules);
}

}  // namespace

Verdict verify_fabric(const FabricEvidence& evidence) { return judge(subnet_rules(), evidence); }
Verdict verify_counters(const FabricEvidence& evidence) { return judge(ib_counter_rules(), evidence); }

Verdict verify_ports(const FabricEvidence& evidence) {
  static const std::vector<Rule> rules = [] {
    const auto links = ib_link_rules(), counters = ib_counter_rules();
    std::vector<Rule> all(links.begin(), links.end());
    all.insert(all.end(), counters.begin(), counters.end());
    return all;
  }();
  return judge(rules, evidence);
}

const Finding* against_learning(const Verdict& verdict) {
  const auto found = std::ranges::find_if(verdict.findings, [](const Finding& finding) {
    const bool is_hole = finding.rule == "fabric.incomplete" || finding.rule == "fabric.rails";
    return finding.status == Status::kFail || (finding.status == Status::kWarn && is_hole);
  });
  return found == verdict.findings.end() ? nullptr : &*found;
}

}  // namespace railbed

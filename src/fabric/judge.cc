#include "fabric/judge.h"

#include <fmt/format.h>

#include <utility>

#include "fabric/judging.h"
#include "verify/causes.h"

namespace railbed {

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
  blocks.front() = judge_fabric(evidence);
  FindingList order;
  for (Finding& one : blocks.front()) order.push_back(&one);
  put_in_order(order);
  return {Findings(std::move(blocks), std::move(order))};
}

}  // namespace railbed

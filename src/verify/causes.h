// Links findings to the findings that explain them, and sorts findings for people.
#pragma once

#include <span>
#include <vector>

#include "verify/finding.h"
#include "verify/rule.h"

namespace railbed {

// Pointers to findings, which stay where they are. caused_by is an index into this list.
using FindingList = std::vector<Finding*>;

// Sets caused_by of every red or unknown finding that a red finding of another rule explains; clears it of
// all others. Rule::explained_by names the rules of the table that may explain a rule. The chain is followed to
// its end, so caused_by always names a finding that nothing explains. A warning
// that explains a failure becomes a failure. An unknown finding that no red one explains
// is caused by the first unknown one of its node that could not read the same place. Two findings belong together
// if
//   - they share a thing of the same node ("netdev:ens6"), or
//   - they share a rail ("rail:rail0"), and the cause concerns the cluster, or the consequence names the
//     cause's node ("node:gpu01"), or
//   - the cause concerns its whole node ("node:gpu01" on gpu01), and the consequence names that node.
void link_causes(const FindingList& findings, std::span<const Rule> rules);

// Sorts worst first. Within a status, findings that explain others come first, then those on most nodes, then
// by the order of the table. Consequences follow their cause directly. Rewrites caused_by as indexes into the
// new order.
void put_in_order(FindingList& findings, std::span<const Rule> rules);

}  // namespace railbed

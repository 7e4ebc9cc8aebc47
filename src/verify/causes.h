// Which finding explains which, and in what order people read them.
#pragma once

#include <vector>

#include "verify/finding.h"

namespace railbed {

// Findings where they lie; caused_by counts places in this list.
using FindingList = std::vector<Finding*>;

// Sets caused_by of every red or unknown finding that a red finding of an earlier rule explains. The chain is
// followed to its end: caused_by is always a finding that nothing explains. Two findings belong together when
// they share a thing of the same node ("netdev:ens6"), or a rail ("rail:rail0") of which the consequence
// names the cause's node ("node:gpu01"), or when the cause concerns the whole node ("node:gpu01" on gpu01).
void link_causes(const FindingList& findings);

// Worst first; in a status those that explain others, then those on most nodes, then in the table's order.
// What a finding explains follows it at once. caused_by counts places in the new order.
void put_in_order(FindingList& findings);

}  // namespace railbed

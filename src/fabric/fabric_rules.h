// The table of a subnet's rules, one function for each area, and how its rules open cases. NAME_rules() is
// defined in rules/, with the check functions of its rows.
#pragma once

#include <span>
#include <string>

#include "base/wording.h"
#include "fabric/fabric_view.h"
#include "verify/judge.h"

namespace railbed {

std::span<const Rule> ib_cabling_rules();  // cables and nodes compared with the plan
std::span<const Rule> ib_link_rules();     // links and states of ports
std::span<const Rule> ib_subnet_rules();   // identities, silent nodes, managers
std::span<const Rule> ib_counter_rules();  // error counters
std::span<const Rule> ib_tree_rules();     // the same cables, devices and switches everywhere

// Opens a case about a part of the subnet.
inline Case on_part(const FabricView& view, Judge& judge, std::string subject, Things touches = {}) {
  Case verdict = judge.on_cluster(std::move(subject), std::move(touches));
  verdict.add_evidence(view.evidence.from);
  return verdict;
}
// Returns the thing that findings about a port touch.
inline std::string thing_of(const FabricView& view, const IbEnd& end) {
  return "port:" + place_of(view.fabric, end);
}
// Opens a case about a port.
inline Case on_port(const FabricView& view, Judge& judge, const IbEnd& end) {
  return on_part(view, judge, place_of(view.fabric, end), {thing_of(view, end)});
}
// Opens a case about the whole subnet.
inline Case on_subnet(const FabricView& view, Judge& judge) {
  return on_part(view, judge, "subnet", {"subnet"});
}
// Passes the subnet if the rule has found nothing.
inline void pass_unless_found(const FabricView& view, Judge& judge, std::string observed) {
  if (!judge.has_findings()) on_subnet(view, judge).pass(std::move(observed));
}

// The same about cables, of which there may be none.
inline void pass_cables_unless_found(const FabricView& view, Judge& judge) {
  if (view.cables.empty()) return on_subnet(view, judge).not_applicable("no cable is in it");
  pass_unless_found(view, judge, counted(view.cables.size(), "cable"));
}

}  // namespace railbed

// A subnet compared with its plan: which planned nodes and cables are there, and the mistakes that explain the
// difference.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/subnet.h"

namespace railbed {

// A mistake that one person made with cables. All ends are ports of the subnet.
struct CablingMistake {
  enum class Kind {
    kMissing,  // ends: of the planned cable that has no link
    kExtra,    // ends: of the cable that is not planned
    kMoved,    // ends: the planned hole, the end that is right, the hole in which the cable is instead
    kSwapped,  // ends e0 to e3: e0–e1 and e2–e3 are planned, e1–e2 and e3–e0 are there: swap e0 and e2
    kMixedUp,  // ends: all ports of the cables that are mixed up
  };
  Kind kind = Kind::kMixedUp;
  std::vector<IbEnd> ends;
};

// Numbers of nodes are indexes into the plan's nodes, unless a comment says otherwise.
struct PlanComparison {
  struct MissingSwitch {
    int node = 0;
    std::size_t behind = 0;  // missing nodes that are cabled to missing nodes only
  };
  struct MissingHcas {
    std::string host;
    std::vector<int> nodes;
    bool whole_host = false;  // the plan has several HCAs of this host, and none is there
  };

  std::vector<int> actual_of;   // by the plan's node, the subnet's; -1: it is missing
  std::vector<int> planned_of;  // by the subnet's node, the plan's; -1: it is not planned
  std::vector<MissingSwitch> missing_switches;
  std::vector<MissingHcas> missing_hcas;
  std::vector<CablingMistake> mistakes;
  std::map<IbEnd, IbEnd> wanted;  // planned cables between ports that exist, in both directions
  std::map<IbEnd, IbLink> links;  // planned links of the cables that are as planned, by the lower end

  // Returns true if no node of the plan is there. Nothing else was compared then.
  bool of_another_subnet() const;
  // Returns the subnet's port of a planned end; unset if there is none.
  IbEnd to_actual(const IbFabric& fabric, const IbEnd& planned) const;
  // Returns the planned far end of a port of the subnet; unset if there is none.
  IbEnd wanted_at(const IbEnd& end) const;
};

PlanComparison compare_with_plan(const IbFabric& fabric, const IbFabric& plan);

}  // namespace railbed

// The subject of a subnet's rules: the evidence, and what follows from it without judging it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/counters.h"
#include "fabric/layout.h"
#include "fabric/plan_comparison.h"
#include "fabric/subnet.h"

namespace railbed {

// The input of the rules.
struct FabricEvidence {
  IbFabric fabric;
  std::string from;                        // a file's name, or the port through which the subnet was read
  std::optional<IbFabric> plan;            // the intended cables
  std::vector<std::string> hosts = {};     // nodes that cluster.yaml expects in this subnet
  std::optional<double> oversubscription;  // the highest allowed ratio: 2 is 2:1
  std::optional<IbCounterLook> counters;
};

// The link that a cable should have.
struct IbWantedLink {
  IbLink link;
  std::string_view why;  // "as planned"; empty if nothing is known
};

struct IbCable {
  IbEnd end, other;
  // The planned link; else the best of what both ends support; else, in a dump, what most cables between such
  // devices have.
  IbWantedLink wanted_width, wanted_speed;
  // It runs on two of four lanes, unplanned, and no other cable of its switches does: a splitter's end or an
  // adapter for half the speed, or a cable with two broken lanes.
  bool lone_pair = false;

  // Returns the link that both ends have; null if they differ, or if it is unknown.
  const IbLink* link(const IbFabric& fabric) const;
  // Returns the Gb/s that it has less than it should have; 0 if link() is null.
  double lost_gigabits(const IbFabric& fabric) const;
};

// Computed once before the rules run. Keeps a reference to the evidence, which must outlive it.
struct FabricView {
  explicit FabricView(const FabricEvidence& from);

  const FabricEvidence& evidence;
  const IbFabric& fabric;  // the evidence's
  IbLayout layout;
  std::vector<IbCable> cables;
  std::optional<PlanComparison> compared;  // nullopt: there is no plan
  std::vector<IbManager> masters;          // the subnet managers that are master
};

}  // namespace railbed

// From "so many nodes by so many rails" to addresses, switches and cables, port to port. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "inventory/cluster.h"

namespace railbed {

struct RailPlanRequest {
  int nodes = 2;
  int rails = 1;
  Fabric fabric = Fabric::kRoce;
  BitRate speed = BitRate::gigabits(100);  // of each port
  std::string prefix = "gpu";              // of the nodes' names
  std::vector<std::string> interfaces;     // one a rail; empty: eth100, eth101, … or ib0, ib1, …
  IpAddress network;                       // of rail 0; each rail has the next 65,536 addresses
  std::string switch_model;                // empty: the one that fits with the fewest
  bool always_switch = false;              // two nodes, too
  double metres = 2;                       // of each cable
};

enum class RailLayout { kBackToBack, kOneSwitch, kSwitchPerRail, kLeafSpinePerRail };
constexpr auto enum_names(RailLayout) {
  return std::array<std::string_view, 4>{"back-to-back", "one-switch", "switch-per-rail",
                                         "leaf-spine-per-rail"};
}

// How many of a model the plan takes.
struct SwitchFit {
  std::string model;
  int ports = 0;
  BitRate speed;
  RailLayout layout = RailLayout::kOneSwitch;
  int leaves = 0;  // or the only switches
  int spines = 0;
  int spare = 0;  // ports that are left on leaves for nodes
  std::string source;
  int count() const { return leaves + spines; }
  FIELDS(SwitchFit, model, ports, speed, layout, leaves, spines, spare, source);
};

struct CableEnd {
  std::string device;  // gpu01, rail0-leaf1
  std::string port;    // eth100, 17
  FIELDS(CableEnd, device, port);
};
struct CableRun {
  std::string label;  // R0-01
  int rail = 0;
  CableEnd from;
  CableEnd to;
  FIELDS(CableRun, label, rail, from, to);
};

struct RailPlan {
  RailLayout layout = RailLayout::kBackToBack;
  int switch_ports = 0;             // that nodes need
  std::optional<SwitchFit> chosen;  // none: back to back
  std::vector<SwitchFit> fits;      // all known that would do, the chosen one first
  std::vector<CableRun> cables;     // in the order in which they are best laid: rail by rail
  double metres = 0;
  Cluster cluster;
  FIELDS(RailPlan, layout, switch_ports, chosen, fits, cables, metres, cluster);
};

// Switches of the table that serve so many nodes by so many rails: the fewest switches first, then the
// slowest ports that do.
std::vector<SwitchFit> switches_that_fit(int nodes, int rails, Fabric fabric, BitRate speed);

Result<RailPlan> plan_rails(const RailPlanRequest& request);

}  // namespace railbed

// Plans addresses, switches and cables, port to port, for a number of nodes and rails. Pure.
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
#include "model/schedule_tree.h"

namespace railbed {

// A network of its own for storage: one port of each node, and one of each file server.
struct StorageNetworkRequest {
  int servers = 1;
  Fabric fabric = Fabric::kRoce;
  BitRate speed = BitRate::gigabits(100);  // speed of each port
  std::string prefix = "store";            // prefix of the servers' names
  std::string interface;                   // empty: the one after the rails', as eth102 or ib2
  std::string switch_model;                // empty: the model that needs the fewest switches
};

struct RailPlanRequest {
  int nodes = 2;
  int rails = 1;
  Fabric fabric = Fabric::kRoce;
  BitRate speed = BitRate::gigabits(100);  // speed of each port
  std::string prefix = "gpu";              // prefix of the nodes' names
  std::vector<std::string> interfaces;     // one per rail; empty: eth100, eth101, … or ib0, ib1, …
  IpAddress network;                       // network of rail 0; each rail has the next 65,536 addresses
  std::string switch_model;                // empty: the model that needs the fewest switches
  bool always_switch = false;              // use a switch for two nodes, too
  double metres = 2;                       // length of each cable
  std::optional<StorageNetworkRequest> storage;
};

enum class RailLayout { kBackToBack, kOneSwitch, kSwitchPerRail, kLeafSpinePerRail };
constexpr auto enum_names(RailLayout) {
  return std::array<std::string_view, 4>{"back-to-back", "one-switch", "switch-per-rail",
                                         "leaf-spine-per-rail"};
}

// The number of switches of one model that the plan needs.
struct SwitchFit {
  std::string model;
  int ports = 0;
  BitRate speed;
  RailLayout layout = RailLayout::kOneSwitch;
  int leaves = 0;  // all switches if there are no spines
  int spines = 0;
  int spare = 0;  // free ports for nodes on leaves
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
  std::string label;  // R0-01; S-01 on the storage network
  int rail = 0;
  CableEnd from;
  CableEnd to;
  FIELDS(CableRun, label, rail, from, to);
};

// The network for storage: the last rail of the plan's cluster.
struct StorageNetwork {
  int servers = 0;
  RailLayout layout = RailLayout::kOneSwitch;
  int switch_ports = 0;  // switch ports that nodes and servers need
  SwitchFit chosen;
  std::vector<SwitchFit> fits;  // all suitable models, the chosen one first
  BitRate for_each_node;        // while all nodes read at once, if drives and servers keep up
  FIELDS(StorageNetwork, servers, layout, switch_ports, chosen, fits, for_each_node);
};

struct RailPlan {
  RailLayout layout = RailLayout::kBackToBack;
  int switch_ports = 0;             // switch ports that nodes need
  std::optional<SwitchFit> chosen;  // none if back to back
  std::vector<SwitchFit> fits;      // all suitable models, the chosen one first
  std::vector<CableRun> cables;     // in the order in which to lay them: rail by rail
  double metres = 0;
  Cluster cluster;                        // with the rails, then the storage network
  std::optional<StorageNetwork> storage;  // none unless it was asked for
  FIELDS(RailPlan, layout, switch_ports, chosen, fits, cables, metres, cluster, storage);
};

// Returns the switches in the table that serve these nodes and rails: the fewest switches first, then the
// slowest ports that suffice.
std::vector<SwitchFit> switches_that_fit(int nodes, int rails, Fabric fabric, BitRate speed);

// Returns the planned nodes and switches as schedulers see them: without file servers and the storage network.
Wiring wiring_of(const RailPlan& plan);

// Returns the plan. Fails if the request is out of range or no switch in the table serves it in two levels.
Result<RailPlan> plan_rails(const RailPlanRequest& request);

}  // namespace railbed

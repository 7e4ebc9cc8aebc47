// The limits of GPU traffic between nodes, and the effect of each possible purchase on them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "facts/facts.h"
#include "predict/prices.h"
#include "results/measurement.h"

namespace railbed {

// A node's path from GPU to wire, according to its facts.
struct NodePath {
  int ports = 0;                 // number of active RDMA ports
  BitRate port;                  // payload rate of all of them together
  BitRate port_most;             // rate of their adapters with other cables; zero: not in the table
  std::optional<BitRate> slots;  // PCIe rate of all adapters together; none: they state no link
  BitRate slots_most;            // PCIe rate that the adapters support
  bool gpus = false;
  std::string staged;    // why data goes through host memory; empty if it does not or is unknown
  std::string software;  // software that would enable a route for adapters; empty: only a new adapter would
  std::string adapter;   // "ConnectX-3 Pro"
};
NodePath node_path_of(const Facts& facts);

// Returns the limits, the binding one first. Empty if no port is active.
std::vector<Limit> limits_of(const NodePath& path);

struct UpgradePart {
  UpgradePartKind kind = UpgradePartKind::kAdapter;
  std::string what;
  int quantity = 0;             // per node
  double watts = 0;             // for the whole quantity
  std::string source;           // source of the watts
  std::optional<double> price;  // for the whole quantity, from the user's list
  FIELDS(UpgradePart, kind, what, quantity, watts, source, price);
};

struct Upgrade {
  std::string name;  // "adapter with GPUDirect RDMA"
  std::string why;
  BitRate after;
  std::string binds;  // the limit that binds then
  std::vector<UpgradePart> parts;
  FIELDS(Upgrade, name, why, after, binds, parts);
};

// Nodes with the same path.
struct NodeUpgrades {
  std::vector<std::string> nodes;
  std::vector<Limit> limits;      // the current limits
  std::string note;               // why there are no upgrades
  std::vector<Upgrade> upgrades;  // the greatest gain first
  FIELDS(NodeUpgrades, nodes, limits, note, upgrades);
};
// Returns the upgrades for each group of nodes with the same limits and upgrades. `nodes` are facts by node
// name.
std::vector<NodeUpgrades> advise_upgrades(const std::map<std::string, Facts>& nodes, const PriceList& prices);

}  // namespace railbed

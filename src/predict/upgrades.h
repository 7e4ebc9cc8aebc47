// What holds GPUs' traffic between nodes now, and what each thing that one could buy would make of it.
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

// A node's way from GPU to wire, as its facts state it.
struct NodePath {
  int ports = 0;                 // RDMA ports that are active
  BitRate port;                  // payload of all of them together
  BitRate port_most;             // that their adapters can do with other cables; zero: not in the table
  std::optional<BitRate> slots;  // of PCIe, all adapters' together; nothing: they state no link
  BitRate slots_most;            // that the adapters themselves can do
  bool gpus = false;
  std::string staged;    // why data goes through host memory; empty: it does not, or nobody knows
  std::string software;  // that would open a route for adapters; empty: only another adapter would
  std::string adapter;   // "ConnectX-3 Pro"
};
NodePath node_path_of(const Facts& facts);

// Binding first. Empty: no port is active.
std::vector<Limit> limits_of(const NodePath& path);

struct UpgradePart {
  UpgradePartKind kind = UpgradePartKind::kAdapter;
  std::string what;
  int quantity = 0;             // for each node
  double watts = 0;             // of all of them
  std::string source;           // of the watts
  std::optional<double> price;  // of all of them, by the user's list
  FIELDS(UpgradePart, kind, what, quantity, watts, source, price);
};

struct Upgrade {
  std::string name;  // "adapter with GPUDirect RDMA"
  std::string why;
  BitRate after;
  std::string binds;  // after it
  std::vector<UpgradePart> parts;
  FIELDS(Upgrade, name, why, after, binds, parts);
};

// Nodes whose way is alike.
struct NodeUpgrades {
  std::vector<std::string> nodes;
  std::vector<Limit> limits;      // now
  std::string note;               // why there are none
  std::vector<Upgrade> upgrades;  // what buys most first
  FIELDS(NodeUpgrades, nodes, limits, note, upgrades);
};
std::vector<NodeUpgrades> advise_upgrades(const std::map<std::string, Facts>& nodes, const PriceList& prices);

}  // namespace railbed

// What limits GPU traffic between nodes, and what each possible change or purchase would do about it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "facts/facts.h"
#include "inventory/cluster.h"
#include "predict/node_path.h"
#include "predict/prices.h"

namespace railbed {

struct UpgradePart {
  UpgradePartKind kind = UpgradePartKind::kAdapter;
  std::string what;                  // "100 Gb/s cable"
  std::vector<std::string> numbers;  // part numbers, one of which is meant; the oldest model first
  int quantity = 0;                  // per node; 0: for all nodes together
  int total = 0;                     // for all nodes of the group
  double watts = 0;                  // of `total`
  std::string source;                // source of the watts
  std::optional<double> price;       // of `total`, from the user's list
  FIELDS(UpgradePart, kind, what, numbers, quantity, total, watts, source, price);
};

struct Upgrade {
  std::string name = {};  // "adapter with GPUDirect RDMA"
  std::string why = {};
  std::vector<std::string> conditions = {};  // what has to hold, and is not known
  BitRate after = {};
  BitRate after_most = {};  // the same as `after` unless the limit that then binds is known as a range
  std::string binds = {};   // the limit that binds then
  std::vector<UpgradePart> parts = {};
  std::optional<double> price = {};       // of all nodes together; not set if one part has no price
  std::optional<double> per_gained = {};  // price for each GB/s that a node gains, at its greatest gain
  FIELDS(Upgrade, name, why, conditions, after, after_most, binds, parts, price, per_gained);
};

// A purchase that one might think of, and why it gains nothing here.
struct UselessUpgrade {
  std::string name;
  std::string why;
  FIELDS(UselessUpgrade, name, why);
};

// Nodes with the same path.
struct NodeUpgrades {
  std::vector<std::string> nodes;
  std::vector<std::string> rails;     // "mlx5_0/1: ConnectX-4, 40 Gb/s, to switch IS5022"
  std::vector<LeftOutPort> left_out;  // active ports that are no rails; of the first of the nodes
  std::string fixed;                  // why no part can be exchanged or added; empty if they can
  std::vector<NodeLimit> limits;      // the current limits
  std::string note;                   // why there are no upgrades
  std::vector<Upgrade> upgrades;  // with prices the cheapest per gained GB/s first, then the greatest gain
  std::vector<UselessUpgrade> useless;
  FIELDS(NodeUpgrades, nodes, rails, left_out, fixed, limits, note, upgrades, useless);
};
// Returns the upgrades for each group of nodes with the same limits and upgrades. `nodes` are facts by node
// name; `cluster` may be empty.
std::vector<NodeUpgrades> advise_upgrades(const Cluster& cluster, const std::map<std::string, Facts>& nodes,
                                          const PriceList& prices);

}  // namespace railbed

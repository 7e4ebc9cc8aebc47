// Structure of a subnet: which switches are leaves and which are above them, and whether HCAs are arranged in
// rails.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/subnet.h"

namespace railbed {

enum class IbShape { kBackToBack, kOneSwitch, kFatTree, kOther };

struct IbLayout {
  IbShape shape = IbShape::kOther;
  std::vector<int> level;  // by node: 0 an HCA, 1 a leaf, 2 a spine, 3 above; -1: none of these
  int top = 0;             // the highest level
  // By node: the group of switches to which it belongs, as in a dragonfly: the switches of a group are cabled to each
  // other, by each other or through switches above them, and groups by few cables between switches of one level. From
  // 0 in the order of the nodes; -1 if the switches do not fall into groups, or for an HCA.
  std::vector<int> group;
  int groups = 0;
  // By node: the devices ("mlx5_0") that most hosts have on this leaf; empty if hosts are not cabled alike.
  std::vector<std::vector<std::string>> leaf_devices;
  // By node: the leaf to which most hosts beside this HCA's host cable the same device, and how many hosts
  // do; -1 if hosts are not cabled alike, or it is no HCA.
  std::vector<int> usual_leaf;
  std::vector<int> usual_votes;
  bool rails = false;  // hosts cable their devices to several leaves, most of them alike
};

// Derives the structure from the cables and the descriptions of the HCAs.
IbLayout layout_of(const IbFabric& fabric);

// Returns the structure in words: "a fat tree of 2 levels: 8 leaves, 4 above them".
std::string describe(const IbFabric& fabric, const IbLayout& layout);

// The routing_engine that suits a subnet, as OpenSM names it, and why.
struct RoutingAdvice {
  std::string_view engines;  // "ftree or updn"
  std::string_view why;
};
RoutingAdvice routing_for(const IbLayout& layout);

}  // namespace railbed

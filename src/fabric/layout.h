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
  // By node: the device ("mlx5_0") of most HCAs of a leaf; empty if they are mixed or it is no leaf.
  std::vector<std::string> leaf_device;
  bool rails = false;  // most leaves have HCAs of one device each, and not all the same
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

// Findings arranged for people: each below the one that explains it, and equal ones of many nodes together.
#pragma once

#include <string>
#include <vector>

#include "verify/findings.h"

namespace railbed {

// The same finding on one or more nodes.
struct Folded {
  const Finding* example = nullptr;
  std::vector<std::string> nodes;  // empty if it concerns the cluster as a whole
  std::size_t count = 0;           // findings folded here
  bool commands_differ = false;    // the remedy's commands are for the example's node; others have their own
};

// A finding without an explanation, and all findings that follow from it.
struct Cause {
  Folded root;
  std::vector<Folded> consequences;  // folded by rule and subject
  std::size_t explained = 0;         // findings behind `consequences`
  Status worst = Status::kNotApplicable;
};

// Puts every finding into exactly one cause. The worst causes come first, otherwise in the order of
// `findings`, which must outlive the result. A finding becomes a root if its `caused_by` is out of range or
// in a circle.
std::vector<Cause> root_causes(const Findings& findings);

// Removes the node's name from a message that is shown beside it: "eth1 of vm2 is down" → "eth1 is down",
// "vm2 has no GPU" → "has no GPU".
std::string without_node(std::string message, const std::string& node);

// Returns "vm2: eth1 is down", "gpu[001-500]: …"; only the message if there is no node. A list of nodes that
// would exceed a line becomes "77 nodes (gpu0009 first)".
std::string headline(const Folded& folded);

}  // namespace railbed

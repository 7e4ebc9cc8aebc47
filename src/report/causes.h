// Findings arranged for people: what explains what, and the same finding on many nodes said once.
#pragma once

#include <string>
#include <vector>

#include "verify/findings.h"

namespace railbed {

// The same finding on one or more nodes.
struct Folded {
  const Finding* example = nullptr;
  std::vector<std::string> nodes;  // empty: it concerns the cluster as a whole
  std::size_t count = 0;           // findings folded here
  bool commands_differ = false;    // the remedy's commands are the example's node's; others have their own
};

// A finding that no other explains, and everything that follows from it.
struct Cause {
  Folded root;
  std::vector<Folded> consequences;  // folded by rule and subject
  std::size_t explained = 0;         // findings behind `consequences`
  Status worst = Status::kNotApplicable;
};

// Every finding is in exactly one cause; causes stand worst first, otherwise in the order of `findings`,
// which must outlive the answer. A `caused_by` that points nowhere or in a circle makes a root.
std::vector<Cause> root_causes(const Findings& findings);

// A message for beside the node's name: "eth1 of vm2 is down" → "eth1 is down", "vm2 has no GPU" → "has no
// GPU".
std::string without_node(std::string message, const std::string& node);

// "vm2: eth1 is down", "gpu[001-500]: …"; without a node only the message. A list that would take more than a
// line is "77 nodes (gpu0009 first)".
std::string headline(const Folded& folded);

}  // namespace railbed

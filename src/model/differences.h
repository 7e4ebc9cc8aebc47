// Differences between the nodes of a cluster: one line per property, for any number of nodes.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "model/survey.h"

namespace railbed {

// The nodes that share a value of a property.
struct SameValue {
  std::string value;
  std::vector<std::string> nodes;
  FIELDS(SameValue, value, nodes);
};

// A property in which nodes differ.
struct Difference {
  std::string property;           // "driver", "MTU of rail0"
  std::vector<SameValue> values;  // most frequent first
  FIELDS(Difference, property, values);
};

// A node's value of one property: {"driver", "580.95.05"}. Names are for people and appear in the JSON.
struct Trait {
  std::string name;
  std::string value;
  bool stated = false;  // cluster.yaml states it for this node
};

// Returns every property by which nodes are compared, as far as the node's facts have it: driver, GPUs,
// adapters, firmware by board, operating system, kernel and its command line, MTU by rail, machine, BIOS,
// NCCL, memory.
std::vector<Trait> traits_of(const NodeView& node);

// Returns the differences, in the order of traits_of(). A property that only some nodes have is compared
// among those. A property is no difference if cluster.yaml states it for each of them.
std::vector<Difference> find_differences(const Evidence& evidence);

// Returns true if `version` is `wanted` or a version below it: "570.86.10" matches "570" and "570.86", not
// "57".
bool version_matches(std::string_view version, std::string_view wanted);

}  // namespace railbed

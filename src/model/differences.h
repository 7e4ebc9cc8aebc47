// How the nodes of a cluster differ: one line a property, however many nodes there are.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "model/survey.h"

namespace railbed {

// Nodes that have the same value of a property.
struct SameValue {
  std::string value;
  std::vector<std::string> nodes;
  FIELDS(SameValue, value, nodes);
};

// A property in which nodes differ.
struct Difference {
  std::string property;           // "driver", "MTU of rail0"
  std::vector<SameValue> values;  // what most have first
  FIELDS(Difference, property, values);
};

// What a node has of one property: {"driver", "580.95.05"}. The names are for people and stand in the JSON.
struct Trait {
  std::string name;
  std::string value;
  bool stated = false;  // cluster.yaml expects it of this node
};

// Every property by which nodes are compared, as far as the node's facts tell: driver, GPUs, adapters,
// firmware by board, operating system, kernel and its command line, MTU by rail, machine, BIOS, memory.
std::vector<Trait> traits_of(const NodeView& node);

// The differences, in the order of traits_of(). A property that only some nodes have is compared among them;
// one in which each node is as cluster.yaml states is no difference.
std::vector<Difference> find_differences(const Evidence& evidence);

// Whether `version` is `wanted` or one below it: "570.86.10" of "570" and of "570.86", not of "57".
bool version_matches(std::string_view version, std::string_view wanted);

}  // namespace railbed

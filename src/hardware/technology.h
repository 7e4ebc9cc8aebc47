// A table of NVIDIA's technologies: which of them a GPU with an adapter and an operating system supports,
// with sources, and for those that cannot be known in advance, the command that shows it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace railbed {

struct Facts;

enum class TechnologySupport { kYes, kLimited, kNo, kUnknown };
constexpr auto enum_names(TechnologySupport) {
  return std::array<std::string_view, 4>{"supported", "limited", "not supported", "cannot tell"};
}

// The known properties of nodes of one kind. Unknown ones stay empty.
struct TechnologyStack {
  std::string gpu = {};                    // the name that the driver or a user gives it
  std::vector<std::string> adapters = {};  // "ConnectX-4"
  std::string os = {};                     // "rhel 10.1", in the form of expect.os
  std::string processor = {};              // "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz"
  std::optional<bool> nvme = {};
  std::optional<int> gpus = {};  // GPUs per node
  FIELDS(TechnologyStack, gpu, adapters, os, processor, nvme, gpus);
  bool operator==(const TechnologyStack&) const = default;
};

// Returns the properties that a node's facts show, once for each GPU model that it has; once if it has no
// GPU.
std::vector<TechnologyStack> stacks_of(const Facts& facts);

// The support of one technology by one kind of node.
struct TechnologyCell {
  std::string technology;
  TechnologySupport support = TechnologySupport::kUnknown;
  std::string reason;   // one sentence
  std::string to_tell;  // command that shows it; empty if known
  std::string source;   // page or document; "general knowledge, to check" if there is none
  FIELDS(TechnologyCell, technology, support, reason, to_tell, source);
};

inline constexpr std::string_view kToCheck = "general knowledge, to check";

// Returns the names of the rows, in order.
std::vector<std::string_view> technology_names();
// Returns a cell for each row. With the facts of a node, the node's own properties have precedence over the
// tables.
std::vector<TechnologyCell> technology_cells(const TechnologyStack& stack, const Facts* facts = nullptr);

// Nodes of one kind, and their cells.
struct TechnologyColumn {
  TechnologyStack stack;
  std::vector<std::string> nodes;  // empty if the stack is from the command line
  std::vector<TechnologyCell> cells;
  FIELDS(TechnologyColumn, stack, nodes, cells);
};

}  // namespace railbed

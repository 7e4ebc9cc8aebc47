// Which of NVIDIA's technologies work on a GPU beside an adapter under an operating system: a table of rules
// with sources, and what would tell where nobody can know beforehand.
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

// What is known of nodes of one kind. What is not known stays empty.
struct TechnologyStack {
  std::string gpu = {};                    // as the driver, or a person, names it
  std::vector<std::string> adapters = {};  // "ConnectX-4"
  std::string os = {};                     // "rhel 10.1", as expect.os says it
  std::string processor = {};              // "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz"
  std::optional<bool> nvme = {};
  std::optional<int> gpus = {};  // in one node
  FIELDS(TechnologyStack, gpu, adapters, os, processor, nvme, gpus);
  bool operator==(const TechnologyStack&) const = default;
};

// What the facts of a node say of it, once for each model of GPU that it has; without a GPU, once.
std::vector<TechnologyStack> stacks_of(const Facts& facts);

struct TechnologyCell {
  std::string technology;
  TechnologySupport support = TechnologySupport::kUnknown;
  std::string reason;   // one sentence
  std::string to_tell;  // what would tell; empty where it is known
  std::string source;   // a page or document; "general knowledge, to check" where there is none
  FIELDS(TechnologyCell, technology, support, reason, to_tell, source);
};

inline constexpr std::string_view kToCheck = "general knowledge, to check";

// The names of the rows, in order.
std::vector<std::string_view> technology_names();
// A cell for each of them. With the facts of a node, what the node itself shows goes before the tables.
std::vector<TechnologyCell> technology_cells(const TechnologyStack& stack, const Facts* facts = nullptr);

// Nodes of one kind beside what they can.
struct TechnologyColumn {
  TechnologyStack stack;
  std::vector<std::string> nodes;  // empty: named on the command line
  std::vector<TechnologyCell> cells;
  FIELDS(TechnologyColumn, stack, nodes, cells);
};

}  // namespace railbed

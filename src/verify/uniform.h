// Compares one value across nodes and finds the nodes that differ.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/walk.h"

namespace railbed {

// One node's value of a property, with the source it was read from.
struct Vote {
  const NodeView* node;
  std::string value;
  std::string from;
  std::vector<ShellCommand> commands = {};  // with this node's names; appended to those of the remedy
  std::string thing = {};                   // the part of the node that has the value: "mlx5_0, mlx5_1"
};

// The property that is compared, and the texts of its finding.
struct Uniformity {
  std::string_view subject;  // "kernel"
  std::string_view why;      // end of the message: "drivers are built per kernel"
  Status status = Status::kWarn;
  Remedy remedy;
  bool touches_gpus = false;
  bool touches_nccl = false;  // touches "nccl" and the rails of the nodes that differ
};

// Compares the votes. If more than half agree, each other node gets a finding of its own; otherwise the
// cluster gets a single finding.
void compare(Judge& judge, const std::vector<Vote>& votes, const Uniformity& what);

// Votes by key. compare_groups() compares within each group only.
using Grouped = std::map<std::string, std::vector<Vote>>;
void compare_groups(Judge& judge, const Grouped& grouped, const Uniformity& what);

// A node's value of a property, and the source it was read from. AskNode returns nullopt for a node that is
// not compared.
struct Answer {
  std::string value;
  std::string from;
};
using AskNode = std::function<std::optional<Answer>(const NodeView&)>;
std::optional<Answer> answer_of(const Reading<std::string>& reading);

// Walk over nodes that should be alike: all nodes, or those for which `kind` returns the same text.
void compare_nodes(const Survey& survey, Judge& judge, const Uniformity& what, const AskNode& ask);
void compare_nodes(const Survey& survey, Judge& judge, const Uniformity& what,
                   const std::function<std::string(const NodeView&)>& kind, const AskNode& ask);

}  // namespace railbed

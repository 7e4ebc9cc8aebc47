// One value a node, and who is the odd one out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/walk.h"

namespace railbed {

struct Vote {
  const NodeView* node;
  std::string value;
  std::string from;
  std::vector<ShellCommand> commands = {};  // in this node's own names, after those of the remedy
};

struct Uniformity {
  std::string_view subject;  // "kernel"
  std::string_view why;      // ends the message: "drivers are built per kernel"
  Status status = Status::kWarn;
  Remedy remedy;
  bool touches_gpus = false;
  bool touches_nccl = false;  // "nccl", and the rails of the nodes that differ
};

// With a majority each odd node gets its own finding; without one the cluster gets a single finding.
void compare(Judge& judge, const std::vector<Vote>& votes, const Uniformity& what);

// Votes by a key, compared within each group.
using Grouped = std::map<std::string, std::vector<Vote>>;
void compare_groups(Judge& judge, const Grouped& grouped, const Uniformity& what);

// What a node has of a property, and where that was read; nothing when it takes no part.
struct Answer {
  std::string value;
  std::string from;
};
using AskNode = std::function<std::optional<Answer>(const NodeView&)>;
std::optional<Answer> answer_of(const Reading<std::string>& reading);

// The walk over nodes that should be alike: all of them, or those that `kind` calls the same.
void compare_nodes(const Survey& survey, Judge& judge, const Uniformity& what, const AskNode& ask);
void compare_nodes(const Survey& survey, Judge& judge, const Uniformity& what,
                   const std::function<std::string(const NodeView&)>& kind, const AskNode& ask);

}  // namespace railbed

// Instructions for a person to fix a fault on a node.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/shell.h"

namespace railbed {

struct Remedy {
  std::string text;                         // one sentence
  std::vector<ShellCommand> commands = {};  // to run on the node, in order; may be empty
  bool needs_reboot = false;
  bool reversible = true;
  // True if no setting mends this finding although its rule names one: a conflict to clear up first, another fault
  // behind the same symptom. Not in JSON.
  bool by_hand_only = false;
  bool of_one_node = false;  // the commands contain this node's values; those for another may differ
  FIELDS(Remedy, text, commands, needs_reboot, reversible, of_one_node);
};

}  // namespace railbed

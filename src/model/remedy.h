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
  bool of_one_node = false;  // the commands contain this node's values; those for another may differ
  FIELDS(Remedy, text, commands, needs_reboot, reversible, of_one_node);
};

}  // namespace railbed

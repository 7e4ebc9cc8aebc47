// The tree of switches for schedulers, as two commands print it.
#pragma once

#include <string>

#include "model/schedule_tree.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace railbed {

// Adds the option that chooses a scheduler's format.
CLI::Option* add_schedule_format(CLI::App& app, const std::string& name, std::string& format);

// Prints the tree in the format, or as "json", and its notes to stderr. Returns the exit code: 1 if a node was left
// out, 3 if no switch has a node.
int print_schedule(const ScheduleTree& tree, const std::string& format);

}  // namespace railbed

// The commands that undo the steps of an apply, determined before the first step from the node's state at
// that moment. They are stored as commands, so that a rollback, perhaps after a power cut, needs no
// decisions.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "apply/request.h"
#include "apply/writable_host.h"
#include "base/fields.h"

namespace railbed {

enum class UndoWhen {
  kBeforeFiles,  // while the new files exist: a unit that goes away is stopped by its own file
  kAfterFiles
};
constexpr auto enum_names(UndoWhen) { return std::array<std::string_view, 2>{"before-files", "after-files"}; }

// One undo command, and the situations in which it runs.
struct UndoCommand {
  UndoWhen when = UndoWhen::kAfterFiles;
  bool running = true;   // in a running system
  bool booting = false;  // early in a boot after a power cut, before the network and most units
  std::vector<std::string> words = {};
  FIELDS(UndoCommand, when, running, booting, words);
};

// Returns true if an apply could have written this command into its record: a program and an action that
// steps and their undo use, with arguments that are neither options nor paths outside of /etc.
bool is_command_of_ours(const std::vector<std::string>& words);

// Returns the commands that undo the request's steps. Reads the node's state, but changes nothing.
std::vector<UndoCommand> undo_of(const ApplyRequest& request, const WritableHost& host);

// Returns in one line how the arguments of the default kernel differ from those that the request's steps set; empty if they do
// not, or cannot be read.
std::string changed_kernel_arguments(const ApplyRequest& request, const WritableHost& host);

}  // namespace railbed

// What takes back the steps of an apply, decided before the first of them: by what the node is at that
// moment. It is kept as commands, so that going back, perhaps after a power cut, needs no thought.
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
  kBeforeFiles,  // while the new files are there: a unit that goes away is stopped by its own file
  kAfterFiles
};
constexpr auto enum_names(UndoWhen) { return std::array<std::string_view, 2>{"before-files", "after-files"}; }

struct UndoCommand {
  UndoWhen when = UndoWhen::kAfterFiles;
  bool running = true;   // in a system that runs
  bool booting = false;  // early in a boot, before the network and most units: after a power cut
  std::vector<std::string> words = {};
  FIELDS(UndoCommand, when, running, booting, words);
};

// Returns whether an apply could have written this command into its record: a program and an action that
// steps and their undo use, with arguments that are no options and no paths outside of /etc.
bool is_command_of_ours(const std::vector<std::string>& words);

std::vector<UndoCommand> undo_of(const ApplyRequest& request, const WritableHost& host);

}  // namespace railbed

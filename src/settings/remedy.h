// A setting as commands for a person: they write the files that a plan would write, to the same paths and
// with the same content, and then run its steps. Afterwards `railbed plan` finds nothing left to do.
#pragma once

#include "model/remedy.h"
#include "settings/platform.h"
#include "settings/setting.h"

namespace railbed {

// Returns the commands of a setting from render_settings(); empty if it has no files and no steps.
std::vector<ShellCommand> commands_by_hand(const Setting& setting, const Platform& platform);

}  // namespace railbed

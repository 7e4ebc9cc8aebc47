// A setting as a person makes it by hand: the files that a plan would write, at the same paths and with the
// same content, and then its steps. `railbed plan` has nothing left to do after it.
#pragma once

#include "model/remedy.h"
#include "settings/platform.h"
#include "settings/setting.h"

namespace railbed {

// The commands of a setting as render_settings() returns it; none where it has no files and no steps.
std::vector<ShellCommand> commands_by_hand(const Setting& setting, const Platform& platform);

}  // namespace railbed

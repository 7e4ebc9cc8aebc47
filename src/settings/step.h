// Maps steps to the programs that carry them out, on one platform.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "settings/platform.h"
#include "settings/setting.h"

namespace railbed {

// Returns the programs in order, with their arguments: what a person would type, and what apply runs without
// a shell.
std::vector<std::vector<std::string>> commands_of(const NodeStep& step, const Platform& platform);
std::vector<std::vector<std::string>> commands_of(const std::vector<NodeStep>& steps,
                                                  const Platform& platform);

// Fails unless the arguments have the form that the step requires: names of units, modules, packages and
// interfaces, paths below /etc. A step may come from another machine's plan.
Result<void> check_step(const NodeStep& step);

}  // namespace railbed

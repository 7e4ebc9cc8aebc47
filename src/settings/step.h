// Steps as the programs that carry them out, on one platform.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "settings/platform.h"
#include "settings/setting.h"

namespace railbed {

// The programs, in order, with their arguments: what a person would type, and what apply runs without a
// shell.
std::vector<std::vector<std::string>> commands_of(const NodeStep& step, const Platform& platform);
std::vector<std::vector<std::string>> commands_of(const std::vector<NodeStep>& steps,
                                                  const Platform& platform);

// Whether the arguments are what the step takes: names of units, modules, packages and interfaces, paths
// below /etc. A step may come from another machine's plan.
Result<void> check_step(const NodeStep& step);

}  // namespace railbed

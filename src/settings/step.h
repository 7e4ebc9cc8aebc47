// Maps steps to the programs that carry them out, on one platform.
#pragma once

#include <string>
#include <string_view>
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

// The folder of root's, in memory, into which kFetchKey puts what it fetched.
inline constexpr std::string_view kKeyFolder = "/run/railbed-key";
// Returns true if kFetchKey may write this file: one of railbed's own, where apt or rpm look for keys.
bool is_key_file(std::string_view path);
// Returns true for 40 hexadecimal digits in capitals: the fingerprint of an OpenPGP key (RFC 4880, 12.2).
bool is_openpgp_fingerprint(std::string_view text);

// Fails unless the arguments have the form that the step requires: names of units, modules, packages and
// interfaces, paths below /etc. A step may come from another machine's plan.
Result<void> check_step(const NodeStep& step);

}  // namespace railbed

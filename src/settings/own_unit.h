// What the units that railbed writes have in common.
#pragma once

#include <optional>
#include <string_view>

#include "settings/target.h"

namespace railbed {

// Returns whether one of railbed's units starts with multi-user.target; nullopt if nobody looked.
std::optional<bool> starts_at_boot(const Target& target, std::string_view unit);

// Returns the lines of [Service] by which a one-shot unit that failed is started again; empty where systemd refuses them.
std::string_view start_again(const Target& target);

}  // namespace railbed

// Shared ssh connections. They stay open for a few minutes after a command, so that the next one needs no key
// exchange.
#pragma once

#include <optional>
#include <string>

#include "fleet/fleet.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// Writes an ssh configuration that shares connections unless the user's own configuration already has
// settings for it. Returns its path, for ssh -F. Returns nullopt if connections cannot be shared safely:
// there is no folder that only this user can enter, its name is too long for a socket, or ssh itself would
// refuse the user's configuration.
std::optional<std::string> sharing_config(const FleetOptions& options, const Environment& environment);

// Returns the text of the configuration. `folder` is the folder of the sockets. Returns nullopt if a path
// cannot be expressed in it.
std::optional<std::string> sharing_text(const FleetOptions& options, const std::string& folder);

}  // namespace railbed::fleet

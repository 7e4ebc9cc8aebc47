// Connections of ssh that stay for a few minutes after a command, so that the next needs no key exchange.
#pragma once

#include <optional>
#include <string>

#include "fleet/fleet.h"
#include "fleet/launcher.h"

namespace railbed::fleet {

// Writes a configuration for ssh (its path is for -F) in which connections are shared as far as the user's
// own configuration says nothing about it. Nothing where they cannot be shared safely: no folder that only
// this user can enter, one whose name is too long for a socket, a configuration that ssh itself would refuse.
std::optional<std::string> sharing_config(const FleetOptions& options, const Environment& environment);

// What it says; `folder` is where the sockets lie. Nothing when a path cannot be written in it.
std::optional<std::string> sharing_text(const FleetOptions& options, const std::string& folder);

}  // namespace railbed::fleet

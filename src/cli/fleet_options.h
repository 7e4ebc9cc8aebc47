// The options of every command that reaches nodes, declared in one place.
#pragma once

#include "fleet/fleet.h"

namespace CLI {
class App;
}

namespace railbed {

// --parallel, --connect-timeout, --ssh-option and --agent-binary, bound to `options`, which must outlive the
// parsing. A cluster's ssh_config is the caller's to set.
void add_fleet_options(CLI::App& app, fleet::FleetOptions& options);

}  // namespace railbed

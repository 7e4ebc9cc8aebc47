// Checks whether an interface has its desired state, now and after the next boot, whatever the cause.
#pragma once

#include <string>
#include <vector>

#include "settings/network/interfaces.h"
#include "settings/setting.h"

namespace railbed {

// Returns the needs of an interface. Without facts, they are all open.
std::vector<Need> interface_needs(const Target& target, const WantedInterface& wanted);
// Returns the need that an unused interface is down, now and after the next boot.
Need stays_down(const Target& target, const std::string& interface);

}  // namespace railbed

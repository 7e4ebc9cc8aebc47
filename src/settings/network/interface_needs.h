// Whether an interface has what it shall have, now and after the next boot, whoever saw to it.
#pragma once

#include <string>
#include <vector>

#include "settings/network/interfaces.h"
#include "settings/setting.h"

namespace railbed {

std::vector<Need> interface_needs(const Target& target, const WantedInterface& wanted);
Need stays_down(const Target& target, const std::string& interface);

}  // namespace railbed

// A subnet for people and for programs.
#pragma once

#include <string>

#include "fabric/managers.h"
#include "fabric/subnet.h"

namespace railbed {

// Switches with their cables first, then what no switch is cabled to.
std::string fabric_text(const IbFabric& fabric);
// Without documents around it; ends with a newline.
std::string fabric_json(const IbFabric& fabric);

std::string managers_text(const ManagerLook& look);
std::string managers_json(const ManagerLook& look);

}  // namespace railbed

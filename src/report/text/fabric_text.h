// Texts about a subnet, for people and for programs.
#pragma once

#include <string>

#include "fabric/managers.h"
#include "fabric/subnet.h"

namespace railbed {

// Returns the switches with their cables, then the nodes without a cable to a switch.
std::string fabric_text(const IbFabric& fabric);
// Returns the bare document; ends with a newline.
std::string fabric_json(const IbFabric& fabric);

std::string managers_text(const ManagerLook& look);
std::string managers_json(const ManagerLook& look);

}  // namespace railbed

// A subnet as a person would draw it: spines above, leaves below them, each leaf's HCAs in a column beneath
// it.
#pragma once

#include <string>

#include "fabric/subnet.h"

namespace railbed {

// A document of its own.
std::string fabric_svg(const IbFabric& fabric);

}  // namespace railbed

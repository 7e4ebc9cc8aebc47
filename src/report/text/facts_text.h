// One node's facts on one screen.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.h"

namespace railbed {

// Returns the facts as sections of printable lines; the last lists readings that failed.
std::string render_facts(const Facts& facts);

// False if the kernel, the system, the interfaces and the PCI devices could all not be read.
bool looked_at_anything(const Facts& facts);

}  // namespace railbed

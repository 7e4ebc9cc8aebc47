// One node's facts on one screen.
#pragma once

#include <string>
#include <string_view>

#include "facts/facts.h"

namespace railbed {

std::string render_facts(const Facts& facts);

// False when not even the kernel, the interfaces or the PCI devices could be looked at.
bool looked_at_anything(const Facts& facts);

}  // namespace railbed

// Upgrades of nodes as text.
#pragma once

#include <string>
#include <vector>

#include "predict/upgrades.h"

namespace railbed {

// `currency` is that of the user's prices; empty if parts have no prices.
std::string upgrades_text(const std::vector<NodeUpgrades>& all, const std::string& currency);

}  // namespace railbed

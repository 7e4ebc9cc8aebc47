// Facts of a machine's BMC, from outputs of ipmitool in a support report.
#pragma once

#include <optional>
#include <string>

#include "facts/bmc.h"

namespace railbed {

class Host;

// Returns what the outputs of ipmitool in a report state of the node's BMC; nullopt if it holds none.
std::optional<BmcFacts> sent_bmc(Host& host, const std::string& node);

}  // namespace railbed

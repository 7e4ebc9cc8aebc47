// The severity of an event whose source states none.
#pragma once

#include <string_view>

#include "facts/bmc.h"

namespace railbed {

// Returns the severity of an entry that states none, as those of Supermicro's Redfish and of ipmitool, by its message
// and the direction of the event: "Correctable ECC @DIMMB1 - Assertion". `code` is another text of the entry, or empty.
// The severities are those of FreeIPMI's table (freeipmi_interpret_sel.conf(5)). Unknown if the text does not decide.
BmcSeverity severity_of_message(std::string_view message, std::string_view code);

}  // namespace railbed

// Passes every output in a report to the parser of its tool, the fullest output first.
#pragma once

#include <string>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// Returns the host name that the outputs, or the copies in `report`, state; empty if none does.
std::string node_in(const Outputs& outputs, const ReportTree& report);
void interpret(const Outputs& outputs, ReportTree& report);

}  // namespace railbed

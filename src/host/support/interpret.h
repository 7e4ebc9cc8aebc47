// Passes every output in a report to the parser of its tool, the fullest output first.
#pragma once

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

void interpret(const Outputs& outputs, ReportTree& report);

}  // namespace railbed

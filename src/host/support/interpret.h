// Passes every output in a report to the parser of its tool, the fullest output first.
#pragma once

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// `written_at`: time of the report in Unix seconds, used for outputs without a time of their own.
void interpret(const Outputs& outputs, double written_at, ReportTree& report);

}  // namespace railbed

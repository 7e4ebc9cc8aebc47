// Every output that a report holds, given to the parser of its tool, the fullest first.
#pragma once

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// `written_at`: Unix seconds at which the report was written, where an output does not tell its own time.
void interpret(const Outputs& outputs, double written_at, ReportTree& report);

}  // namespace railbed

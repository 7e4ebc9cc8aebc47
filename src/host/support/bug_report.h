// nvidia-bug-report.log: sections between rules of underscores. A file's is headed "*** /proc/cmdline" and
// its "*** ls: …", a command's by the command.
#pragma once

#include <string_view>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

bool is_bug_report(std::string_view text);
void read_bug_report(std::string_view text, ReportTree& report, Outputs& outputs);

}  // namespace railbed

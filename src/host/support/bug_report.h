// Reads nvidia-bug-report.log: sections between rules of underscores. A file's section has the heads
// "*** /proc/cmdline" and "*** ls: …", a command's section the command line.
#pragma once

#include <string>
#include <string_view>

#include "host/support/outputs.h"
#include "host/support/report_tree.h"

namespace railbed {

// Returns true for paths of files that collectors read, whose copies count; an Xorg log or a user's settings are not
// among them.
bool is_copied_file(std::string_view path);

// Returns whether a text is such a log.
bool is_bug_report(std::string_view text);
// Returns the messages of NVIDIA's driver that the script found in the journal of an earlier boot, 1 or 2 boots before
// this one; empty if it has none. The other lines are empty, so that each has its number.
std::string messages_of_boot(std::string_view text, int boots_before);
// The same of /var/log/kern.log, whose lines are of many boots: those of all but its last one, which may be this one. Its
// lines have the kernel's stamps, and a stamp below the one before begins a boot; empty where they have none.
std::string messages_of_log_file(std::string_view text);
// Adds the copied files to `report` and the outputs of commands to `outputs`.
void read_bug_report(std::string_view text, ReportTree& report, Outputs& outputs);

}  // namespace railbed

// Support reports as machines to look at: a sosreport, an nvidia-bug-report, a folder of command outputs or one
// such output
// (docs/how-to/from-a-sosreport.md).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "host/support/report_tree.h"
#include "host/support/sent.h"

namespace railbed {

// Returns whether a path may be such a report, by the beginning of the file or the content of the folder.
bool is_support_report(const std::string& path);

struct SupportReport {
  std::string node;  // host name; empty if the report does not contain it
  ReportTree tree;
};
// Reads a report within limits. `path` is one that is_support_report() accepted.
Result<SupportReport> read_support_report(const std::string& path, const SentLimits& limits = {});

// The same for a report in memory. `name` is used in error messages; that of a single output may tell which
// command printed it.
Result<SupportReport> report_of(Sent sent, std::string_view name);

}  // namespace railbed

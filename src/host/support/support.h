// What people send to support, as a machine to look at: a sosreport, an nvidia-bug-report, a folder of
// command outputs (docs/how-to/from-a-sosreport.md).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "host/support/report_tree.h"
#include "host/support/sent.h"

namespace railbed {

// Whether a path may be such a report: by how the file begins, by what the folder holds.
bool is_support_report(const std::string& path);

struct SupportReport {
  std::string node;  // its host's name; empty where the report does not tell
  ReportTree tree;
};
// Reads it within bounds; `path` as is_support_report() took it.
Result<SupportReport> read_support_report(const std::string& path, const SentLimits& limits = {});

// The same of what has been read; `name` stands in complaints, `written_at` is when it was written (Unix
// seconds).
Result<SupportReport> report_of(Sent sent, std::string_view name, double written_at);

}  // namespace railbed

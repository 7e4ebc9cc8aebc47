// Support reports as machines to look at: sosreports, nvidia-bug-reports and outputs of commands, each alone, in an
// archive or in a folder (docs/how-to/from-a-sosreport.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/support/report_tree.h"
#include "host/support/sent.h"

namespace railbed {

struct SupportReport {
  std::string node;  // the host name that it states, else a name by its folder or file
  ReportTree tree;
};

struct SupportReports {
  std::vector<SupportReport> nodes;  // at least one; sorted by name
  std::vector<Unread> unread;
};

// Reads an archive, a file, or a folder without the folders that `is_other` accepts, within limits. Merges the files
// of one node. Fails (kBadInput) with the reasons if no file is read, and for two whole reports of one node.
Result<SupportReports> read_support_reports(const std::string& path,
                                            const std::function<bool(const std::string& path)>& is_other,
                                            const SentLimits& limits = {});

// The same for a report in memory. `name` is used in error messages; that of a single output may state which
// command printed it.
Result<SupportReports> reports_of(Sent sent, const std::string& name);

// Returns the error for a path without a file that is read: why each is not, and the forms that are.
tl::unexpected<Error> nothing_read(const std::string& path, const std::vector<Unread>& tried);

}  // namespace railbed

// A support report as a host, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "host/host.h"
#include "host/support/report_tree.h"

namespace railbed {

inline std::unique_ptr<Host> host_of(ReportTree report) {
  Gaps gaps = report.gaps();
  return open_tree(std::move(report).tree(), std::move(gaps));
}

// Returns the line, or why there is none.
inline std::string line_of(Host& host, const std::string& path) {
  const auto line = host.read_line(path);
  return line ? *line : describe(line.miss(), "");
}

}  // namespace railbed

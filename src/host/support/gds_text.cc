// gdscheck -p: kept as what the program prints on the machine itself, for facts/software/gds.h to read.
#include "base/text.h"
#include "host/support/texts.h"

namespace railbed {

bool is_gdscheck(std::string_view text) {
  const auto head = text.substr(0, 64 << 10);
  const auto has = [&](std::string_view mark) { return head.find(mark) != head.npos; };
  // People cut off the first lines, which have the versions.
  const bool titled = has("GDS release version") || has("DRIVER CONFIGURATION:");
  return titled && has("NVMe") && (has("use_compat_mode") || has("Userspace RDMA"));
}

void add_gdscheck(std::string_view text, ReportTree& report) {
  constexpr std::string_view kProgram = "/usr/local/cuda/gds/tools/gdscheck";
  if (report.has(kProgram)) return;
  report.copy(kProgram, "");
  report.call(std::string("changeable ").append(kProgram), "[]");
  report.command(std::string("env CUFILE_LOGFILE_PATH=/dev/null ").append(kProgram).append(" -p"),
                 std::string(text));
}

std::string without_gdscheck_tables(std::string_view text) {
  std::string kept;
  for (const auto line : lines(text)) {
    const auto pair = key_value(line, ':');
    const bool is_row = pair && (pair->second == "Supported" || pair->second == "Unsupported" ||
                                 pair->second == "Enabled" || pair->second == "Disabled" ||
                                 pair->second == "Not configured" || pair->second.starts_with("Not Loaded"));
    if (!is_row) kept.append(line).append("\n");
  }
  return kept;
}

}  // namespace railbed

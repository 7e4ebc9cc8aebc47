#include "report/report.h"

#include "report/measurements.h"

namespace railbed {

Run run_of(const Report& report) {
  const std::size_t asked = report.facts.size() + report.unreachable.size();
  return {report.cluster.name, report.started_at, report.seconds, asked, report.differences};
}

std::string render_text(const Report& report, const TextOptions& options) {
  std::string text = render_text(report.verdict, run_of(report), options);
  if (!report.measurements.empty()) text += '\n' + render_text(report.measurements, options);
  return text;
}

}  // namespace railbed

#include "report/report.h"

#include "report/measurements.h"
#include "report/text/run_text.h"

namespace railbed {

Run run_of(const Report& report) {
  const std::size_t asked = report.facts.size() + report.unreachable.size();
  return {report.cluster.name, report.started_at, report.seconds, asked, report.differences};
}

std::string render_text(const Report& report, const TextOptions& options) {
  std::string text = render_text(report.verdict, run_of(report), options);
  if (!report.measurements.empty()) text += '\n' + render_text(report.measurements, options);
  if (!report.runs.empty()) text += '\n';
  for (const BenchRun& run : report.runs) text += run_line(run);
  return text;
}

}  // namespace railbed

#include "base/json.h"
#include "report/causes.h"
#include "report/findings.h"
#include "report/report.h"

namespace railbed {
namespace {

json::Value document_of(const Verdict& verdict, const Run& run) {
  const StatusCounts counts = verdict.findings.counts();
  json::Value document;
  document["format"] = "railbed-findings";
  document["version"] = 1;
  document["cluster"] = run.cluster;
  document["started_at"] = run.started_at;
  document["seconds"] = run.seconds;
  document["nodes"] = run.nodes;
  document["counts"] = {{"fail", counts.fail},
                        {"warn", counts.warn},
                        {"unknown", counts.unknown},
                        {"pass", counts.pass},
                        {"n/a", counts.not_applicable}};
  document["differences"] = json::encode(run.differences);
  document["findings"] = json::encode(verdict.findings);
  return document;
}

}  // namespace

std::string render_json(const Verdict& verdict, const Run& run) {
  return json::dump_pretty(document_of(verdict, run));
}

std::string render_json(const Report& report) {
  json::Value document = document_of(report.verdict, run_of(report));
  document["measurements"] = json::encode(report.measurements);
  if (!report.runs.empty()) document["runs"] = json::encode(report.runs);
  return json::dump_pretty(document);
}

}  // namespace railbed

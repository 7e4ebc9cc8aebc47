#include "base/json.h"
#include "report/causes.h"
#include "report/findings.h"

namespace railbed {

std::string render_json(const Verdict& verdict, const Run& run) {
  const StatusCounts counts = count_statuses(verdict.findings);
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
  document["differences"] = json::encode(verdict.differences);
  document["findings"] = json::encode(verdict.findings);
  return json::dump_pretty(document);
}

}  // namespace railbed

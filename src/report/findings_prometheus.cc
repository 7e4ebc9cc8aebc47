#include <map>
#include <tuple>

#include "base/text.h"
#include "report/causes.h"
#include "report/exposition.h"
#include "report/findings.h"

namespace railbed {
namespace {

// Returns the value in the order of the exit codes: 0 clean, 1 warning, 2 failure, 3 could not look.
int gauge_value(Status status) {
  switch (status) {
    case Status::kWarn:
      return 1;
    case Status::kFail:
      return 2;
    case Status::kUnknown:
      return 3;
    case Status::kPass:
    case Status::kNotApplicable:
      return 0;
  }
  return 0;
}

using Series = std::tuple<std::string, std::string, std::string>;  // node, rule, subject

// An exposition may hold a series only once: the worst of equal ones is kept.
std::map<Series, Status> series_of(const Findings& findings) {
  std::map<Series, Status> series;
  for (const Finding& finding : findings) {
    if (finding.status == Status::kNotApplicable) continue;
    const auto [it, is_new] = series.emplace(
        Series{printable(finding.node), printable(finding.rule), printable(finding.subject)}, finding.status);
    if (!is_new && severity(finding.status) < severity(it->second)) it->second = finding.status;
  }
  return series;
}

}  // namespace

std::string render_prometheus(const Verdict& verdict, const Run& run) {
  const std::string& cluster = run.cluster;
  Exposition out;
  out.announce("railbed_rule_status", "gauge",
               "What the rule says of the subject: 0 pass, 1 warning, 2 failure, 3 could not look.");
  for (const auto& [labels, status] : series_of(verdict.findings)) {
    const auto& [node, rule, subject] = labels;
    out.sample("railbed_rule_status",
               {{"cluster", cluster}, {"node", node}, {"rule", rule}, {"subject", subject}},
               gauge_value(status));
  }

  const StatusCounts counts = verdict.findings.counts();
  out.announce("railbed_findings", "gauge", "Findings by status.");
  for (const auto& [status, count] : {std::pair{"fail", counts.fail},
                                      {"warn", counts.warn},
                                      {"unknown", counts.unknown},
                                      {"pass", counts.pass},
                                      {"n/a", counts.not_applicable}})
    out.sample("railbed_findings", {{"cluster", cluster}, {"status", status}}, count);

  out.announce("railbed_nodes", "gauge", "Nodes looked at or tried.");
  out.sample("railbed_nodes", {{"cluster", cluster}}, run.nodes);
  out.announce("railbed_verify_duration_seconds", "gauge", "Wall time of the verification.");
  out.sample("railbed_verify_duration_seconds", {{"cluster", cluster}}, run.seconds);
  return out.take();
}

}  // namespace railbed

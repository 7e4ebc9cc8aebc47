#include <fmt/format.h>

#include <map>
#include <tuple>

#include "report/causes.h"
#include "report/escape.h"
#include "report/findings.h"

namespace railbed {
namespace {

// As the exit codes count: 0 clean, 1 warning, 2 failure, 3 could not look.
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

void announce(std::string& text, std::string_view name, std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

using Series = std::tuple<std::string, std::string, std::string>;  // node, rule, subject

// A series may stand in an exposition only once: of equals, the worst is kept.
std::map<Series, Status> series_of(const Findings& findings) {
  std::map<Series, Status> series;
  for (const Finding& finding : findings) {
    if (finding.status == Status::kNotApplicable) continue;
    const auto [it, is_new] = series.emplace(
        Series{escape_label(finding.node), escape_label(finding.rule), escape_label(finding.subject)},
        finding.status);
    if (!is_new && severity(finding.status) < severity(it->second)) it->second = finding.status;
  }
  return series;
}

}  // namespace

std::string render_prometheus(const Verdict& verdict, const Run& run) {
  const std::string cluster = escape_label(run.cluster);
  std::string text;
  announce(text, "railbed_rule_status",
           "What the rule says of the subject: 0 pass, 1 warning, 2 failure, 3 could not look.");
  for (const auto& [labels, status] : series_of(verdict.findings)) {
    const auto& [node, rule, subject] = labels;
    text += fmt::format("railbed_rule_status{{cluster=\"{}\",node=\"{}\",rule=\"{}\",subject=\"{}\"}} {}\n",
                        cluster, node, rule, subject, gauge_value(status));
  }

  const StatusCounts counts = count_statuses(verdict.findings);
  announce(text, "railbed_findings", "Findings by status.");
  for (const auto& [status, count] : {std::pair{"fail", counts.fail},
                                      {"warn", counts.warn},
                                      {"unknown", counts.unknown},
                                      {"pass", counts.pass},
                                      {"n/a", counts.not_applicable}})
    text += fmt::format("railbed_findings{{cluster=\"{}\",status=\"{}\"}} {}\n", cluster, status, count);

  announce(text, "railbed_nodes", "Nodes looked at or tried.");
  text += fmt::format("railbed_nodes{{cluster=\"{}\"}} {}\n", cluster, run.nodes);
  announce(text, "railbed_verify_duration_seconds", "Wall time of the verification.");
  text += fmt::format("railbed_verify_duration_seconds{{cluster=\"{}\"}} {}\n", cluster, run.seconds);
  return text;
}

}  // namespace railbed

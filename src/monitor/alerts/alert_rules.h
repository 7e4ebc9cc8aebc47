// Prometheus alert rules for the nodes that `railbed monitor` exports, as a rules file.
//
// Each rule of verify has its own alert instead of one alert for all. The alert can then state what is
// expected, why, and what to do. It links to its own place in the handbook, and it can be silenced, routed
// and counted by its name. Alertmanager groups related alerts by the labels cluster, node and finding.
//
// The file also holds alerts on counters, for faults that show only as a change between two looks at the
// node. Such an alert names the finding that reports the same fault, waits for the look that may produce that
// finding, and stays silent on a node while the finding is present or was present while the counter grew. One
// fault therefore makes one alert.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inventory/cluster.h"

namespace railbed {

// One alert of the rules file. `expression`, `severity` and the texts may hold Prometheus templates.
struct AlertRule {
  std::string group;    // "railbed links"
  std::string name;     // RailbedPortLinkDowned
  std::string finding;  // the rule that reports the same fault: "load.link-lost", "monitor.look-stale"
  // Further findings that silence it: they are the cause, or report the same fault.
  std::vector<std::string_view> silenced = {};
  std::string severity;  // a template that yields critical or warning
  std::string expression;
  // Window of the counter that it reads, in minutes; 0 if it reads current values only.
  int looks_back = 0;
  std::string wait = {};  // how long the expression must hold: "5m"; empty if the alert fires at once
  std::string summary;
  std::string description;
  std::string remedy;
};

// Returns the alerts on counters, limits and the watch itself. They name `cluster` in their expressions.
std::vector<AlertRule> counter_alerts(const Cluster& cluster);
// Returns one alert for each rule of verify, and one for findings of rules that this version does not know.
std::vector<AlertRule> finding_alerts(const Cluster& cluster);

// Returns the alerts on probes, a part of counter_alerts(). In their expressions, $cluster stands for the
// quoted name of the cluster.
std::vector<AlertRule> probe_alerts();

// Returns the whole rules file as YAML. `handbook` is the address under which docs/ is published; if it is
// empty, alerts carry only the path, as `runbook` instead of `runbook_url`.
std::string render_alert_rules(const Cluster& cluster, std::string_view handbook);

}  // namespace railbed

// Prometheus' alert rules for nodes that `railbed monitor` shows, as a rules file.
//
// Each rule of verify has an alert of its own, not one alert for all: the alert then says what is expected,
// why and what to do, links to its own place in the handbook, and can be silenced, routed and counted by its
// name. Alertmanager joins what belongs together by the labels cluster, node and finding.
//
// Beside them stand alerts on counters, for what only moves between two looks. Each names the finding that
// says the same, waits for the look that may tell it, and is silent on a node while it is told or was while
// the counter grew, so that one fault makes one alert.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inventory/cluster.h"

namespace railbed {

struct AlertRule {
  std::string group;    // "railbed links"
  std::string name;     // RailbedPortLinkDowned
  std::string finding;  // the rule that says the same: "load.link-lost", "monitor.look-stale"
  std::vector<std::string_view> silenced =
      {};                // by these findings as well: they are the cause, or say the same
  std::string severity;  // a template: critical, warning
  std::string expression;
  int looks_back = 0;     // minutes of a counter that it reads; 0: what is now
  std::string wait = {};  // how long it has to be so: "5m"; empty: not at all
  std::string summary;
  std::string description;
  std::string remedy;
};

// On counters, limits and the watch itself; then those of verify's rules.
std::vector<AlertRule> counter_alerts(const Cluster& cluster);
std::vector<AlertRule> finding_alerts(const Cluster& cluster);

// Of counter_alerts(), those on probes; $cluster stands for the cluster's quoted name.
std::vector<AlertRule> probe_alerts();

// The whole file. `handbook` is the address that docs/ is found below; empty: alerts name the path alone.
std::string render_alert_rules(const Cluster& cluster, std::string_view handbook);

}  // namespace railbed

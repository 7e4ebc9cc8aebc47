// Prometheus alert rules for the nodes that `railbed monitor` exports, as a rules file.
//
// The rules are written in monitor/alerts/*.yaml, with placeholders for what depends on the cluster, and for limits and
// texts whose home is a table of railbed. finding.yaml becomes one alert for each rule of verify. The others are alerts
// on counters, for faults that show only as a change between two looks at the node, on limits, and on the watch itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inventory/cluster.h"

namespace railbed {

// Returns the whole rules file as YAML, for Prometheus 2.42 and later. `handbook` is the address under which docs/ is
// published. If it is empty, each runbook_url leads to the page of alert_page.h, which Prometheus serves itself.
std::string render_alert_rules(const Cluster& cluster, std::string_view handbook);

// One alert of the file, as Prometheus reads it.
struct AlertRule {
  std::string group;  // "railbed links"
  std::string name;
  std::string expression;
  std::string pending;  // "3m": for how long the expression holds before it fires; empty: at once
  std::string severity;
  std::string finding;
  std::string summary;  // this and the next two may hold {{ templates }}
  std::string description;
  std::string remedy;
};
// Returns the alerts of the rules file of this cluster, in its order.
std::vector<AlertRule> alert_rules(const Cluster& cluster);

}  // namespace railbed

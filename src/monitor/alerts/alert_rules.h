// Prometheus alert rules for the nodes that `railbed monitor` exports, as a rules file.
//
// The rules are written in monitor/alerts/*.yaml, with placeholders for what depends on the cluster, and for limits and
// texts whose home is a table of railbed. finding.yaml becomes one alert for each rule of verify. The others are alerts
// on counters, for faults that show only as a change between two looks at the node, on limits, and on the watch itself.
#pragma once

#include <string>
#include <string_view>

#include "inventory/cluster.h"

namespace railbed {

// Returns the whole rules file as YAML. `handbook` is the address under which docs/ is published; if it is
// empty, alerts carry only the path, as `runbook` instead of `runbook_url`.
std::string render_alert_rules(const Cluster& cluster, std::string_view handbook);

}  // namespace railbed

// Grafana dashboards for the nodes that `railbed monitor` exports: monitor/dashboards/*.json, which Grafana 9 to 11
// import. They name no cluster: the user selects the cluster and the Prometheus data source on the page.
#pragma once

#include <span>
#include <string_view>

namespace railbed {

// One dashboard: the name of its file and its JSON.
struct Dashboard {
  std::string_view file;  // "railbed-fleet.json"
  std::string_view text;
};

// Returns the dashboards of the fleet, of one node, of one rail, and of GPUs.
std::span<const Dashboard> dashboards();

}  // namespace railbed

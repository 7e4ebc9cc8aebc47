// Grafana dashboards for the nodes that `railbed monitor` exports. They name no cluster: the user selects the
// cluster and the Prometheus data source on the page.
#pragma once

#include <string>
#include <vector>

namespace railbed {

// One dashboard: the name of its file and its JSON.
struct Dashboard {
  std::string file;  // "railbed-fleet.json"
  std::string text;
};

// Returns the dashboards of the fleet, of one node, of one rail, and of GPUs.
std::vector<Dashboard> render_dashboards();

}  // namespace railbed

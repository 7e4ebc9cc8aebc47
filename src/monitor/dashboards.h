// Grafana's dashboards for nodes that `railbed monitor` shows. They know no cluster by name: which one is
// shown is chosen on the page, and so is the Prometheus that is asked.
#pragma once

#include <string>
#include <vector>

namespace railbed {

struct Dashboard {
  std::string file;  // "railbed-fleet.json"
  std::string text;
};

std::vector<Dashboard> render_dashboards();

}  // namespace railbed

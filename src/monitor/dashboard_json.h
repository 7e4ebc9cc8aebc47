// A dashboard as a table of panels → JSON as Grafana 9 to 11 import it (grafana.com/docs/grafana/latest/
// dashboards/build-dashboards/view-dashboard-json-model).
#pragma once

#include <string>
#include <vector>

namespace railbed {

enum class PanelKind {
  kLines,    // over time
  kNumber,   // one that is read from afar
  kTable,    // a row for each series, its labels as columns
  kHeading,  // of the panels below it
};

struct PanelQuery {
  std::string expression;
  std::string legend = "__auto";  // one that ends with "ceiling" is drawn as the line that nothing passes
};

struct DashboardPanel {
  PanelKind kind = PanelKind::kLines;
  std::string title;
  std::string description = {};
  std::string unit = {};  // Grafana's name of it: "Bps", "celsius"
  std::vector<PanelQuery> queries = {};
  int width = 12;                       // of 24 columns
  std::string column = {};              // of a table: what its values are
  std::vector<double> thresholds = {};  // of numbers: yellow from the first on, red from the second
};

struct DashboardVariable {
  std::string name;
  std::string label;
  std::string query;
  bool several = false;
};

struct DashboardPlan {
  std::string uid;
  std::string title;
  std::string description;
  std::vector<DashboardVariable> variables;
  std::vector<DashboardPanel> panels;
};

std::string dashboard_json(const DashboardPlan& plan);

}  // namespace railbed

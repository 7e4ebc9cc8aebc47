// Converts a dashboard, given as a table of panels, to JSON that Grafana 9 to 11 import
// (grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model).
#pragma once

#include <string>
#include <vector>

namespace railbed {

enum class PanelKind {
  kLines,    // over time
  kNumber,   // one number, to be read from a distance
  kTable,    // one row for each series, with its labels as columns
  kHeading,  // a heading for the panels below it
};

struct PanelQuery {
  std::string expression;
  // The legend of its series; one that ends with "ceiling" is drawn as a dashed line.
  std::string legend = "__auto";
};

struct DashboardPanel {
  PanelKind kind = PanelKind::kLines;
  std::string title;
  std::string description = {};
  std::string unit = {};  // Grafana's name of the unit: "Bps", "celsius"
  std::vector<PanelQuery> queries = {};
  int width = 12;                       // in columns, of 24
  std::string column = {};              // heading of the values in a table
  std::vector<double> thresholds = {};  // colors of numbers: orange from the first on, red from the second
};

// A selector at the top of the dashboard.
struct DashboardVariable {
  std::string name;
  std::string label;
  std::string query;
  // Several values can be selected at once.
  bool several = false;
};

struct DashboardPlan {
  std::string uid;
  std::string title;
  std::string description;
  std::vector<DashboardVariable> variables;
  std::vector<DashboardPanel> panels;
};

// Returns the JSON text of the dashboard. It is placed on a grid of 24 columns.
std::string dashboard_json(const DashboardPlan& plan);

}  // namespace railbed

#include "monitor/alerts/dashboard_json.h"

#include <algorithm>

#include "base/json.h"

namespace railbed {
namespace {

using json::Value;

constexpr int kSchema = 37;  // Grafana 9's; newer versions migrate it when they read it
constexpr int kColumns = 24;

Value source() { return {{"type", "prometheus"}, {"uid", "${datasource}"}}; }

int height_of(PanelKind kind) {
  switch (kind) {
    case PanelKind::kLines:
      return 8;
    case PanelKind::kNumber:
      return 4;
    case PanelKind::kTable:
      return 9;
    case PanelKind::kHeading:
      return 1;
  }
  return 8;
}

Value steps_of(const std::vector<double>& thresholds) {
  Value steps = Value::array({{{"color", "green"}, {"value", nullptr}}});
  constexpr const char* kColours[] = {"orange", "red"};
  for (std::size_t i = 0; i < thresholds.size() && i < std::size(kColours); ++i)
    steps.push_back({{"color", kColours[i]}, {"value", thresholds[i]}});
  return steps;
}

Value override_of(const char* matcher, const std::string& what, Value properties) {
  return {{"matcher", {{"id", matcher}, {"options", what}}}, {"properties", std::move(properties)}};
}

Value ceiling_override() {
  return override_of(
      "byRegexp", "/ceiling$/",
      Value::array(
          {{{"id", "custom.lineStyle"}, {"value", {{"fill", "dash"}, {"dash", Value::array({8, 8})}}}},
           {{"id", "custom.fillOpacity"}, {"value", 0}},
           {{"id", "color"}, {"value", {{"mode", "fixed"}, {"fixedColor", "red"}}}}}));
}

// Links the name of a node to the dashboard of that node.
Value node_link() {
  return override_of(
      "byName", "node",
      Value::array(
          {{{"id", "links"},
            {"value", Value::array({{{"title", "this node"},
                                     {"url",
                                      "/d/railbed-node?${datasource:queryparam}&${cluster:queryparam}"
                                      "&var-node=${__value.raw}"}}})}}}));
}

Value fields_of(const DashboardPanel& panel) {
  Value defaults = {{"unit", panel.unit},
                    {"color", {{"mode", panel.kind == PanelKind::kLines ? "palette-classic" : "thresholds"}}},
                    {"thresholds", {{"mode", "absolute"}, {"steps", steps_of(panel.thresholds)}}},
                    {"mappings", Value::array()}};
  Value overrides = Value::array();
  if (panel.kind == PanelKind::kLines) {
    defaults["min"] = 0;
    defaults["custom"] = {
        {"drawStyle", "line"}, {"lineWidth", 1}, {"fillOpacity", 8}, {"showPoints", "never"}};
    overrides.push_back(ceiling_override());
  }
  if (panel.kind == PanelKind::kTable) {
    defaults["custom"] = {{"filterable", true}};
    overrides.push_back(node_link());
  }
  return {{"defaults", std::move(defaults)}, {"overrides", std::move(overrides)}};
}

Value options_of(PanelKind kind) {
  if (kind == PanelKind::kLines)
    return {{"legend",
             {{"displayMode", "table"},
              {"placement", "bottom"},
              {"showLegend", true},
              {"calcs", Value::array({"lastNotNull", "max"})}}},
            {"tooltip", {{"mode", "multi"}, {"sort", "desc"}}}};
  if (kind == PanelKind::kTable) return {{"showHeader", true}, {"cellHeight", "sm"}};
  return {{"reduceOptions", {{"calcs", Value::array({"lastNotNull"})}, {"fields", ""}, {"values", false}}},
          {"colorMode", "value"},
          {"graphMode", "none"},
          {"justifyMode", "auto"},
          {"orientation", "auto"},
          {"textMode", "auto"}};
}

Value targets_of(const DashboardPanel& panel) {
  Value targets = Value::array();
  const bool now = panel.kind != PanelKind::kLines;
  for (const PanelQuery& query : panel.queries)
    targets.push_back({{"refId", std::string(1, static_cast<char>('A' + targets.size()))},
                       {"datasource", source()},
                       {"editorMode", "code"},
                       {"expr", query.expression},
                       {"legendFormat", query.legend},
                       {"format", panel.kind == PanelKind::kTable ? "table" : "time_series"},
                       {"instant", now},
                       {"range", !now}});
  return targets;
}

// Returns the transformation of a table's columns. Columns with the same value in every row are left out.
Value columns_of(const DashboardPanel& panel) {
  return Value::array(
      {{{"id", "organize"},
        {"options",
         {{"excludeByName", {{"Time", true}, {"__name__", true}, {"job", true}, {"cluster", true}}},
          {"indexByName", Value::object()},
          {"renameByName", {{"Value", panel.column}}}}}}});
}

Value panel_json(const DashboardPanel& panel, int id, Value place) {
  constexpr const char* kTypes[] = {"timeseries", "stat", "table", "row"};
  Value out = {{"id", id},
               {"type", kTypes[static_cast<std::size_t>(panel.kind)]},
               {"title", panel.title},
               {"gridPos", std::move(place)}};
  if (panel.kind == PanelKind::kHeading) {
    out["collapsed"] = false;
    out["panels"] = Value::array();
    return out;
  }
  out["description"] = panel.description;
  out["datasource"] = source();
  out["fieldConfig"] = fields_of(panel);
  out["options"] = options_of(panel.kind);
  out["targets"] = targets_of(panel);
  if (panel.kind == PanelKind::kTable) out["transformations"] = columns_of(panel);
  return out;
}

// Places the panels from left to right. A panel that does not fit starts the next line, below the highest
// panel of the line before.
Value panels_of(const std::vector<DashboardPanel>& panels) {
  Value out = Value::array();
  int x = 0;
  int y = 0;
  int highest = 0;
  for (const DashboardPanel& panel : panels) {
    const int width = panel.kind == PanelKind::kHeading ? kColumns : panel.width;
    const int height = height_of(panel.kind);
    if (x + width > kColumns) {
      x = 0;
      y += highest;
      highest = 0;
    }
    out.push_back(panel_json(panel, static_cast<int>(out.size()) + 1,
                             {{"h", height}, {"w", width}, {"x", x}, {"y", y}}));
    x += width;
    highest = std::max(highest, height);
  }
  return out;
}

Value variable_json(const DashboardVariable& variable) {
  return {{"name", variable.name},
          {"label", variable.label},
          {"type", "query"},
          {"datasource", source()},
          {"definition", variable.query},
          {"query", {{"query", variable.query}, {"refId", variable.name}}},
          {"refresh", 2},  // refresh when the displayed time range changes
          {"sort", 5},     // alphabetical, without regard to case
          {"includeAll", variable.several},
          {"multi", variable.several},
          {"current", Value::object()},
          {"options", Value::array()},
          {"regex", ""},
          {"skipUrlSync", false},
          {"hide", 0}};
}

Value variables_of(const std::vector<DashboardVariable>& variables) {
  Value list = Value::array({{{"name", "datasource"},
                              {"label", "Prometheus"},
                              {"type", "datasource"},
                              {"query", "prometheus"},
                              {"refresh", 1},
                              {"includeAll", false},
                              {"multi", false},
                              {"current", Value::object()},
                              {"options", Value::array()},
                              {"regex", ""},
                              {"skipUrlSync", false},
                              {"hide", 0}}});
  for (const DashboardVariable& variable : variables) list.push_back(variable_json(variable));
  return {{"list", std::move(list)}};
}

}  // namespace

std::string dashboard_json(const DashboardPlan& plan) {
  const Value links = Value::array({{{"type", "dashboards"},
                                     {"title", "railbed"},
                                     {"tags", Value::array({"railbed"})},
                                     {"asDropdown", true},
                                     {"includeVars", true},
                                     {"keepTime", true},
                                     {"targetBlank", false},
                                     {"url", ""}}});
  return json::dump_pretty(Value{{"id", nullptr},
                                 {"uid", plan.uid},
                                 {"title", plan.title},
                                 {"description", plan.description},
                                 {"tags", Value::array({"railbed"})},
                                 {"schemaVersion", kSchema},
                                 {"version", 1},
                                 {"editable", true},
                                 {"graphTooltip", 1},
                                 {"refresh", "30s"},
                                 {"timezone", ""},
                                 {"time", {{"from", "now-3h"}, {"to", "now"}}},
                                 {"annotations", {{"list", Value::array()}}},
                                 {"links", links},
                                 {"templating", variables_of(plan.variables)},
                                 {"panels", panels_of(plan.panels)}});
}

}  // namespace railbed

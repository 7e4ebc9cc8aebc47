#include "monitor/alerts/alert_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/yaml.h"
#include "monitor/alerts/promql.h"
#include "verify/rule.h"

namespace railbed {
namespace {

constexpr std::string_view kAlertsPage = "docs/reference/alerts.md";

// "rdma.port-state" → "RailbedRdmaPortState".
std::string alert_name(std::string_view rule) {
  std::string name = "Railbed";
  bool upper = true;
  for (const char c : rule) {
    const bool letter = c != '.' && c != '-';
    if (letter) name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = !letter;
  }
  return name;
}

std::string area_of(std::string_view rule) { return std::string(rule.substr(0, rule.find('.'))); }

// Returns, for each rule that judges a counter by its rate since boot, the exporter's names of these
// counters. Such a rule stays red long after the errors have stopped, so its alert also requires that a
// counter still grows.
const std::map<std::string_view, std::vector<std::string_view>>& counters_since_boot() {
  static const std::map<std::string_view, std::vector<std::string_view>> counters = {
      {"net.flaps", {"node_network_carrier_changes_total"}},
      {"net.receive-errors", {"node_network_receive_errs_total"}},
      {"rdma.buffer-overrun",
       {"node_infiniband_excessive_buffer_overrun_errors_total", "node_infiniband_vl15_dropped_total"}},
      {"rdma.damaged-packets",
       {"node_infiniband_local_link_integrity_errors_total", "node_infiniband_port_errors_received_total"}},
      {"rdma.link-lost", {"node_infiniband_link_downed_total", "node_infiniband_link_error_recovery_total"}},
      {"rdma.packet-loss",
       {"node_infiniband_packet_sequence_errors_total",
        "node_infiniband_out_of_sequence_packets_received_total",
        "node_infiniband_local_ack_timeout_errors_total",
        R"(railbed_hw_counter_total{counter=~"rx_icrc_encapsulated|rp_cnp_ignored"})"}},
      {"rdma.signal-quality", {"node_infiniband_symbol_error_total"}}};
  return counters;
}

// Returns a PromQL condition that holds while a counter of `rule` grew in the last 10 minutes; empty for
// other rules.
std::string while_it_grows(std::string_view rule) {
  const auto found = counters_since_boot().find(rule);
  if (found == counters_since_boot().end()) return "";
  std::vector<std::string> growth;
  for (const std::string_view counter : found->second)
    growth.push_back(fmt::format("increase({}[10m]) > 0", counter));
  return fmt::format(" and on (instance) ({})", fmt::join(growth, " or "));
}

AlertRule finding_alert(const Rule& rule, const std::string& cluster) {
  return {
      .group = "railbed findings " + area_of(rule.id),
      .name = alert_name(rule.id),
      .finding = std::string(rule.id),
      .severity = R"({{ if eq $labels.status "fail" }}critical{{ else }}warning{{ end }})",
      .expression = fmt::format(R"(railbed_finding{{cluster={}, rule="{}", status=~"fail|warn"}} == 1{})",
                                cluster, rule.id, while_it_grows(rule.id)),
      .summary = fmt::format("{{{{ $labels.node }}}}, {{{{ $labels.subject }}}}: {} "
                             R"({{{{ if eq $labels.status "fail" }}}}fails{{{{ else }}}}warns{{{{ end }}}}; )"
                             "expected: {}",
                             rule.id, template_text(rule.title)),
      .description =
          template_text(fmt::format("{} Expected: {}. Read from: {}.", rule.why, rule.standard, rule.source)),
      .remedy =
          template_text(fmt::format("{} What was seen, with commands for this node: railbed verify there. "
                                    "More: railbed explain {}",
                                    rule.remedy, rule.id))};
}

// Returns the alert for rules that are not in this file: an exporter newer than the file may know more rules.
AlertRule other_finding_alert(const std::string& cluster) {
  std::vector<std::string_view> known;
  for (const Rule& rule : all_rules()) known.push_back(rule.id);
  return {.group = "railbed findings other",
          .name = "RailbedFindingOther",
          .finding = "{{ $labels.rule }}",
          .severity = R"({{ if eq $labels.status "fail" }}critical{{ else }}warning{{ end }})",
          .expression = fmt::format(R"(railbed_finding{{cluster={}, status=~"fail|warn", rule!~"{}"}} == 1)",
                                    cluster, fmt::join(known, "|")),
          .summary = "{{ $labels.node }}, {{ $labels.subject }}: {{ $labels.rule }} is red",
          .description = "The node's railbed knows a rule that this file of alerts does not know.",
          .remedy =
              "railbed explain {{ $labels.rule }}, on that node; then write the file anew by the same "
              "railbed: railbed monitor files"};
}

std::string yaml_expression(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? "|-\n          " + text : yaml_quoted(text);
}

std::string render_alert(const AlertRule& alert, std::string_view handbook) {
  std::string anchor = alert.name;
  std::ranges::transform(anchor, anchor.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::string place = fmt::format("{}#{}", kAlertsPage, anchor);
  const bool slash = !handbook.empty() && !handbook.ends_with('/');
  return fmt::format(
      "      - alert: {}\n        expr: {}\n{}        labels:\n          severity: {}\n          finding: {}\n"
      "        annotations:\n          summary: {}\n          description: {}\n          remedy: {}\n"
      "          {}: {}\n",
      alert.name, yaml_expression(alert.expression),
      alert.wait.empty() ? "" : fmt::format("        for: {}\n", alert.wait), yaml_quoted(alert.severity),
      yaml_quoted(alert.finding), yaml_quoted(alert.summary), yaml_quoted(alert.description),
      yaml_quoted(alert.remedy), handbook.empty() ? "runbook" : "runbook_url",
      yaml_quoted(fmt::format("{}{}{}", template_text(handbook), slash ? "/" : "", place)));
}

}  // namespace

std::vector<AlertRule> finding_alerts(const Cluster& cluster) {
  const std::string quoted = promql_quoted(cluster.name);
  std::vector<AlertRule> alerts;
  for (const Rule& rule : all_rules()) alerts.push_back(finding_alert(rule, quoted));
  alerts.push_back(other_finding_alert(quoted));
  return alerts;
}

std::string render_alert_rules(const Cluster& cluster, std::string_view handbook) {
  std::vector<AlertRule> alerts = counter_alerts(cluster);
  for (AlertRule& alert : finding_alerts(cluster)) alerts.push_back(std::move(alert));
  // The rules of one area are not always adjacent in the table, but a group may appear only once in the file.
  std::vector<std::string> groups;
  for (const AlertRule& alert : alerts)
    if (std::ranges::find(groups, alert.group) == groups.end()) groups.push_back(alert.group);
  std::string text = fmt::format("{}\n# What each means: {}\ngroups:\n",
                                 yaml_comment("Prometheus' alerts on the nodes of " + cluster.name +
                                              ", written by railbed monitor files."),
                                 kAlertsPage);
  for (const std::string& group : groups) {
    text += fmt::format("  - name: {}\n    rules:\n", yaml_quoted(group));
    for (const AlertRule& alert : alerts)
      if (alert.group == group) text += render_alert(alert, handbook);
  }
  return text;
}

}  // namespace railbed

#include "monitor/alerts/alert_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/yaml.h"
#include "hardware/xid.h"
#include "monitor/alerts/alert_page.h"
#include "monitor/events/finding_watch.h"
#include "verify/floor.h"
#include "verify/load_window.h"
#include "verify/rule.h"

namespace railbed {
namespace {

constexpr std::string_view kLinks =
#include "monitor/alerts/links.yaml.text"
    ;

constexpr std::string_view kTransport =
#include "monitor/alerts/transport.yaml.text"
    ;

constexpr std::string_view kGpus =
#include "monitor/alerts/gpus.yaml.text"
    ;

constexpr std::string_view kWatch =
#include "monitor/alerts/watch.yaml.text"
    ;

constexpr std::string_view kFinding =
#include "monitor/alerts/finding.yaml.text"
    ;

constexpr std::string_view kAlertsPage = "docs/reference/alerts.md";
constexpr int kLosslessUnlessSaid = 3;  // the priority that RoCE guides recommend

// Values of placeholders by their names without RAILBED_, as they stand between the quotes of a PromQL or YAML string;
// nullopt: the line is left out.
using Values = std::map<std::string_view, std::optional<std::string>>;

// Returns the part of a rules file that lists its groups.
std::string_view groups_of(std::string_view file) {
  constexpr std::string_view kGroups = "\ngroups:\n";
  return file.substr(file.find(kGroups) + kGroups.size());
}

// Returns the text with each placeholder replaced by its value. An unknown placeholder stays as it is, which a test
// refuses.
std::string filled(std::string_view text, const Values& values) {
  constexpr std::string_view kPlaceholder = "RAILBED_";
  std::string out;
  for (const std::string_view line : lines(text)) {
    std::string done;
    bool left_out = false;
    std::size_t from = 0;
    for (auto at = line.find(kPlaceholder); at != line.npos; at = line.find(kPlaceholder, from)) {
      const auto name = at + kPlaceholder.size();
      const auto end = std::min(line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", name), line.size());
      const auto known = values.find(line.substr(name, end - name));
      const bool has_value = known != values.end() && known->second;
      done += line.substr(from, at - from);
      done += has_value ? std::string_view(*known->second) : line.substr(at, end - at);
      left_out |= known != values.end() && !has_value;
      from = end;
    }
    if (!left_out) out += fmt::format("{}{}\n", done, line.substr(from));
  }
  return out;
}

// Returns text for a PromQL string between double quotes, in ASCII. PromQL has Go's escapes
// (prometheus.io/docs/prometheus/latest/querying/basics, "String literals").
std::string promql_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (point.bytes == 0)
      out += R"(\ufffd)";
    else if (point.value == '"' || point.value == '\\')
      out += {'\\', static_cast<char>(point.value)};
    else if (point.value >= ' ' && point.value <= '~')
      out += static_cast<char>(point.value);
    else
      out += fmt::format(R"(\U{:08x})", static_cast<std::uint32_t>(point.value));
    text.remove_prefix(std::max<std::size_t>(point.bytes, 1));
  }
  return out;
}

// Returns text for a YAML string between double quotes that a Prometheus template prints unchanged, even if it holds
// braces.
std::string template_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool opens = text.substr(at, 2) == "{{";
    out += opens ? std::string_view("{{ \"{{\" }}") : text.substr(at, 1);
    at += opens ? 1 : 0;
  }
  const std::string quoted = yaml_quoted(out);
  return quoted.substr(1, quoted.size() - 2);
}

// Returns a pattern of all Xid numbers in the table with one of these actions: "46|48|62".
std::string xid_pattern(std::initializer_list<XidAction> actions) {
  std::vector<int> numbers;
  for (const Xid& xid : xids())
    if (std::ranges::find(actions, xid.action) != actions.end())
      for (int number = xid.first; number <= xid.last; ++number) numbers.push_back(number);
  return fmt::format("{}", fmt::join(numbers, "|"));
}

int lossless_priority(const Cluster& cluster) {
  int priority = kLosslessUnlessSaid;
  for (const Node& node : cluster.nodes) priority = node.configure.pfc_priority.value_or(priority);
  return priority;
}

// Returns the lowest fraction of the ceiling that a node of the cluster expects. Nodes may expect different
// fractions; verify judges each by its own.
double lowest_fraction(const Cluster& cluster) {
  double lowest = 1;
  for (const Node& node : cluster.nodes) lowest = std::min(lowest, node.expect.fraction_of_ceiling);
  return cluster.nodes.empty() ? Expectations{}.fraction_of_ceiling : lowest;
}

// Returns the address of the page that has an anchor for each alert, as a template of Prometheus.
std::string runbook(std::string_view handbook) {
  if (handbook.empty()) return fmt::format("{{{{ $externalURL }}}}/{}", kAlertPageFile);
  return fmt::format("{}{}{}", template_text(handbook), handbook.ends_with('/') ? "" : "/", kAlertsPage);
}

Values values_of(const Cluster& cluster, std::string_view handbook) {
  std::vector<std::string_view> known;
  for (const Rule& rule : all_rules()) known.push_back(rule.id);
  using enum XidAction;
  return {{"CLUSTER", promql_text(cluster.name)},
          {"RUNBOOK", runbook(handbook)},
          {"FLAP_MINUTES", fmt::to_string(kFlapSeconds / 60)},
          {"KNOWN_RULES", fmt::format("{}", fmt::join(known, "|"))},
          {"FRACTION_OF_CEILING", fmt::to_string(lowest_fraction(cluster))},
          {"LOSSLESS_PRIORITY", fmt::to_string(lossless_priority(cluster))},
          {"XIDS_REBOOT", xid_pattern({kReboot})},
          {"XIDS_RESET", xid_pattern({kReset})},
          {"XIDS_ISOLATE", xid_pattern({kIsolate})},
          {"XIDS_OF_NO_PROGRAM", xid_pattern({kReboot, kReset, kIsolate, kInformation, kDriverSays})},
          {"SYMBOL_ERRORS", fmt::to_string(kSymbolErrorsAnHour)},
          {"LINK_RECOVERIES", fmt::to_string(kLinkRecoveriesAMinute)},
          {"RECEIVE_ERRORS", fmt::to_string(kReceiveErrorsASecond)},
          {"CARRIER_CHANGES", fmt::to_string(kCarrierChanges)},
          {"ACK_TIMEOUTS", fmt::to_string(kAckTimeoutsASecond)},
          {"DISCARDS", fmt::to_string(kDiscardsASecond)},
          {"RESTARTS", fmt::to_string(kRestartsASecond)},
          {"NVLINK_ERRORS", fmt::to_string(kNvlinkErrorsASecond)},
          {"LOSS_WARNS", fmt::to_string(kLossWarns)}};
}

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

std::string_view area_of(std::string_view rule) { return rule.substr(0, rule.find('.')); }

// Returns, for each rule that judges a counter by its rate since boot, the exporter's names of these counters.
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

// Returns the counters of `rule` that grew in the last 10 minutes, in PromQL; nullopt for rules that judge no counter by
// its rate since boot.
std::optional<std::string> growing_counters(std::string_view rule) {
  const auto found = counters_since_boot().find(rule);
  if (found == counters_since_boot().end()) return std::nullopt;
  std::vector<std::string> growth;
  for (const std::string_view counter : found->second)
    growth.push_back(fmt::format("increase({}[10m]) > 0", counter));
  return fmt::format("({})", fmt::join(growth, " or "));
}

// Returns the values for an alert of this rule, the cluster's among them.
Values values_of(const Rule& rule, Values values) {
  const std::string name = alert_name(rule.id);
  values.insert({{"AREA", std::string(area_of(rule.id))},
                 {"ALERT", name},
                 {"ANCHOR", lower(name)},
                 {"RULE", std::string(rule.id)},
                 {"GROWING_COUNTERS", growing_counters(rule.id)},
                 {"TITLE", template_text(rule.title)},
                 {"WHY", template_text(rule.why)},
                 {"STANDARD", template_text(rule.standard)},
                 {"SOURCE", template_text(rule.source)},
                 {"REMEDY", template_text(rule.remedy)}});
  return values;
}

// Returns one alert for each rule of verify, and one group for each area: rules of an area are not always adjacent in
// the table, but a group may appear only once in the file.
std::string finding_groups(const Values& values) {
  const std::string_view group = groups_of(kFinding);
  const auto alert = group.find("      - alert:");
  std::vector<std::pair<std::string_view, std::string>> areas;
  for (const Rule& rule : all_rules()) {
    const Values its = values_of(rule, values);
    auto area = std::ranges::find(areas, area_of(rule.id), &std::pair<std::string_view, std::string>::first);
    if (area == areas.end())
      area = areas.insert(area, {area_of(rule.id), filled(group.substr(0, alert), its)});
    area->second += filled(group.substr(alert), its);
  }
  std::string text;
  for (const auto& [area, its_group] : areas) text += its_group;
  return text;
}

// Returns groups of alerts with the time for which each keeps firing when its expression is no longer true.
std::string with_hold(std::string groups) {
  static_assert(kHoldSeconds % 60 == 0);
  constexpr std::string_view kLabels = "\n        labels:\n";
  const std::string hold = fmt::format("\n        keep_firing_for: {}m", kHoldSeconds / 60);
  for (auto at = groups.find(kLabels); at != groups.npos; at = groups.find(kLabels, at + hold.size() + 1))
    groups.insert(at, hold);
  return groups;
}

// Returns the value of a key; nothing if the mapping lacks it.
const YamlValue& item_of(const YamlValue& mapping, std::string_view key) {
  static const YamlValue kLacking;
  const auto found = std::ranges::find(mapping.keys, key, &YamlKey::text);
  return found == mapping.keys.end() ? kLacking : mapping.items[std::size_t(found - mapping.keys.begin())];
}

}  // namespace

std::string render_alert_rules(const Cluster& cluster, std::string_view handbook) {
  const Values values = values_of(cluster, handbook);
  std::string text = fmt::format("{}\n# For Prometheus 2.42 and later. What each means: {}\ngroups:\n",
                                 yaml_comment("Prometheus' alerts on the nodes of " + cluster.name +
                                              ", written by railbed monitor files."),
                                 kAlertsPage);
  for (const std::string_view file : {kLinks, kTransport, kGpus, kWatch})
    text += with_hold(filled(groups_of(file), values));
  return text + with_hold(finding_groups(values));
}

std::vector<AlertRule> alert_rules(const Cluster& cluster) {
  const std::string text = render_alert_rules(cluster, "");
  Complaints complaints(text, "railbed.rules.yml");
  const auto file = parse_yaml(text, complaints);
  assert(file.has_value());
  std::vector<AlertRule> alerts;
  for (const YamlValue& group : item_of(*file, "groups").items)
    for (const YamlValue& rule : item_of(group, "rules").items) {
      const YamlValue& labels = item_of(rule, "labels");
      const YamlValue& annotations = item_of(rule, "annotations");
      alerts.push_back({item_of(group, "name").text, item_of(rule, "alert").text, item_of(rule, "expr").text,
                        item_of(rule, "for").text, item_of(labels, "severity").text,
                        item_of(labels, "finding").text, item_of(annotations, "summary").text,
                        item_of(annotations, "description").text, item_of(annotations, "remedy").text});
    }
  return alerts;
}

}  // namespace railbed

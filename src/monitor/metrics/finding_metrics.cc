// Exports findings as series. Only findings that no other finding explains are exported, so that one fault is
// one series and one alert.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "monitor/injection.h"
#include "monitor/metrics/families.h"
#include "report/causes.h"

namespace railbed {
namespace {

using Series = std::pair<std::string, std::string>;  // rule, subject

struct Root {
  Status status = Status::kUnknown;
  bool injected = false;
};

// Returns the labels of a finding, with those after them, and the mark of an injected one.
std::vector<Exposition::Label> labels_of_finding(const Series& series, bool injected,
                                                 std::optional<std::string_view> status = {}) {
  std::vector<Exposition::Label> labels = {{"rule", series.first}, {"subject", series.second}};
  if (status) labels.emplace_back("status", *status);
  if (injected) labels.emplace_back("injected", "true");
  return labels;
}

// Returns the findings that no other finding explains. If a rule has two findings on one subject, the worse
// counts.
std::map<Series, Root> roots_of(const Findings& findings) {
  std::map<Series, Root> roots;
  for (const Finding& finding : findings) {
    if (finding.caused_by || finding.status == Status::kPass || finding.status == Status::kNotApplicable)
      continue;
    const auto [found, is_new] = roots.emplace(Series(finding.rule, printable(finding.subject)), Root());
    if (is_new || severity(finding.status) < severity(found->second.status))
      found->second = {finding.status, is_injected(finding.message)};
  }
  return roots;
}

std::string_view word(Status status) { return enum_names(status)[static_cast<std::size_t>(status)]; }

void add_collectors(const NodeState& state, Exposition& out) {
  out.announce("railbed_collector_success", "gauge",
               "1 where the collector's last look worked; 0: its metrics are missing or old.");
  for (const CollectorHealth& health : state.collectors)
    out.sample("railbed_collector_success", {{"collector", health.name}}, health.success ? 1 : 0);
  out.announce("railbed_collector_duration_seconds", "gauge",
               "How long it took; of one that hangs, how long it has hung.");
  for (const CollectorHealth& health : state.collectors)
    out.sample("railbed_collector_duration_seconds", {{"collector", health.name}}, health.seconds);
}

void add_flapping(const NodeState& state, Exposition& out) {
  out.announce("railbed_finding_flapping", "gauge",
               "A finding that comes and goes, also while it is absent: how often it has changed.");
  for (const auto& [series, event] : state.flapping)
    out.sample("railbed_finding_flapping",
               labels_of_finding(series, is_injected(event.message), word(event.status)),
               static_cast<double>(event.flaps));
  out.announce("railbed_finding_flapping_since_seconds", "gauge", "When the first of these changes was.");
  for (const auto& [series, event] : state.flapping)
    if (event.flapping_since)
      out.sample("railbed_finding_flapping_since_seconds",
                 labels_of_finding(series, is_injected(event.message)), event.flapping_since->unix_seconds);
}

}  // namespace

void add_findings(const NodeState& state, Exposition& out) {
  out.announce("railbed_build_info", "gauge", "Always 1.");
  out.sample("railbed_build_info", {{"version", railbed_version()}}, 1);
  add_collectors(state, out);
  out.number("railbed_look_success", "gauge", "1 where the last look at the whole machine came back.",
             state.look && !state.look_failed ? 1 : 0);
  if (!state.look) return;
  out.number("railbed_look_timestamp_seconds", "gauge", "When the machine was last looked at as a whole.",
             state.look->when);
  out.number("railbed_look_duration_seconds", "gauge", "How long that took.", state.look->seconds);
  const auto roots = roots_of(state.look->findings);
  out.announce("railbed_finding", "gauge",
               "What a rule says is wrong, or could not be told, and nothing else explains; always 1.");
  for (const auto& [series, root] : roots)
    out.sample("railbed_finding", labels_of_finding(series, root.injected, word(root.status)), 1);
  out.announce("railbed_finding_since_seconds", "gauge", "Since when.");
  for (const auto& [series, root] : roots)
    if (const auto found = state.since.find(series); found != state.since.end())
      out.sample("railbed_finding_since_seconds", labels_of_finding(series, root.injected), found->second);
  add_flapping(state, out);
  StatusCounts counts = state.look->findings.counts();
  std::size_t injected = 0;
  for (const Finding& finding : state.look->findings) {
    if (!is_injected(finding.message)) continue;
    ++injected;
    --(finding.status == Status::kFail ? counts.fail : counts.warn);
  }
  out.number("railbed_injected_findings", "gauge", "Findings that --inject made; they are no faults.",
             static_cast<double>(injected));
  out.announce("railbed_findings", "gauge", "Findings by status.");
  for (const auto& [status, count] : {std::pair{"fail", counts.fail},
                                      {"warn", counts.warn},
                                      {"unknown", counts.unknown},
                                      {"pass", counts.pass},
                                      {"n/a", counts.not_applicable}})
    out.sample("railbed_findings", {{"status", status}}, count);
  if (state.events.empty()) return;
  out.announce("railbed_events_total", "counter", "Events since this process began, by kind.");
  for (const auto& [kind, count] : state.events) out.sample("railbed_events_total", {{"kind", kind}}, count);
}

void add_past(const NodeState& state, Exposition& out) {
  if (!state.past || state.past->empty()) return;
  const auto each = [&](std::string_view metric, std::string_view help, auto&& value) {
    out.announce(metric, "gauge", help);
    for (const PastMeasurement& measurement : *state.past)
      if (const std::optional<double> found = value(measurement))
        out.sample(
            metric,
            {{"peer", measurement.peer}, {"rail", measurement.rail}, {"operation", measurement.operation}},
            *found);
  };
  each("railbed_measured_bytes_per_second", "What was last measured from this node to the peer.",
       [](const PastMeasurement& measurement) { return std::optional(measurement.rate); });
  each("railbed_ceiling_bytes_per_second", "What the path allows.",
       [](const PastMeasurement& measurement) { return measurement.ceiling; });
  each("railbed_measured_timestamp_seconds", "When that was.",
       [](const PastMeasurement& measurement) { return std::optional(measurement.when); });
}

}  // namespace railbed

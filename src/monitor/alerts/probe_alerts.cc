// Alerts on the results of probes. On a large rail, a node probes other peers in each round. So these alerts
// count the series by peer, and the peers themselves can be seen in the series.
#include <fmt/format.h>

#include "monitor/alerts/alert_rules.h"

namespace railbed {
namespace {

constexpr std::string_view kOnRail = "{{ $labels.node }}, {{ $labels.rail }}";
// A median this small is at the limit of the clock's accuracy: four times as much may still be healthy.
constexpr std::string_view kNeverSlow = "5e-05";

}  // namespace

std::vector<AlertRule> probe_alerts() {
  const std::string group = "railbed probes";
  const std::string latest = "railbed_probe_latest_round_trip_seconds{cluster=$cluster}";
  return {
      {.group = group,
       .name = "RailbedProbeLost",
       .finding = "monitor.probe-lost",
       .severity = "warning",
       .expression = "count by (cluster, node, instance, job, rail, transport) "
                     "(railbed_probe_failed{cluster=$cluster} == 1) > 0",
       .wait = "3m",
       .summary = fmt::format("{}: probes by {{{{ $labels.transport }}}} get no answer", kOnRail),
       .description = "In the last round {{ $value }} peers did not answer or lost messages.",
       .remedy =
           "railbed_probe_failed says which peer and why: unreachable, stranger or refused (another secret), "
           "lost, rdma. Then measure between the two by railbed bench tcp or railbed bench rdma: where that "
           "fails, it looks at the path layer by layer."},
      {.group = group,
       .name = "RailbedProbeSlow",
       .finding = "monitor.probe-slow",
       .severity = "warning",
       .expression =
           fmt::format("{0} > 4 * quantile_over_time(0.1, {0}[1d]) and {0} > {1}", latest, kNeverSlow),
       .wait = "5m",
       .summary = fmt::format("{}: probes by {{{{ $labels.transport }}}} are slow", kOnRail),
       .description = "A round trip takes more than four times what the fastest tenth of the last day took: "
                      "{{ $value | humanizeDuration }}.",
       .remedy =
           "Is the rail full, or paused? Look at its pause and discard counters, and at both nodes' processors; "
           "railbed_probe_floor_seconds is what RDMA takes at least."},
      {.group = group,
       .name = "RailbedProbeWrongPriority",
       .finding = "monitor.probe-priority",
       .severity = "critical",
       .expression = "count by (cluster, node, instance, job, rail, end, direction, expected, seen) "
                     "(railbed_probe_priority{cluster=$cluster} == 0) > 0",
       .wait = "3m",
       .summary = fmt::format("{}: RDMA does not go by priority {{{{ $labels.expected }}}}", kOnRail),
       .description =
           "Probes in RDMA's traffic class were {{ $labels.direction }} {{ $labels.end }}, the counter of "
           "the lossless priority stood still, and this one's moved: {{ $labels.seen }}.",
       .remedy =
           "Let the port trust DSCP and give the DSCP its priority, at this node, at the peer and at the "
           "switch: railbed verify, railbed plan."}};
}

}  // namespace railbed

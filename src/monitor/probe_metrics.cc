// Exports the results of probes as series. On a large rail (kMostNamedPeers), peers have no series of their
// own, and the label is empty.
#include <fmt/format.h>

#include "monitor/families.h"
#include "monitor/probe.h"

namespace railbed {
namespace {

constexpr std::size_t kMostTold = 32;  // limit for failures of the last round, by peer

std::string_view word(ProbeTransport transport) {
  return enum_names(transport)[static_cast<std::size_t>(transport)];
}
std::string_view word(ProbeReason reason) { return enum_names(reason)[static_cast<std::size_t>(reason)]; }

class ProbeFamilies {
 public:
  ProbeFamilies(const ProbeState& state, Exposition& out) : state_(state), out_(out) {}

  void add() {
    add_pause();
    add_histogram();
    add_counts();
    add_gauges();
    add_failed_now();
    add_priorities();
    add_service();
  }

 private:
  // Exports one number for each series. `value` maps a series to an optional number.
  template <class Value>
  void each(std::string_view name, std::string_view type, std::string_view help, Value value) {
    out_.announce(name, type, help);
    for (const auto& [key, series] : state_.series) {
      const auto& [rail, peer, transport] = key;
      if (const auto found = value(series))
        out_.sample(name, {{"rail", rail}, {"peer", peer}, {"transport", word(transport)}}, *found);
    }
  }

  void add_pause() {
    out_.number("railbed_probe_round_timestamp_seconds", "gauge", "When the last round of probes began.",
                state_.last.when);
    out_.number("railbed_probe_round_duration_seconds", "gauge", "How long it took.", state_.last.seconds);
    out_.announce(
        "railbed_probe_paused", "gauge",
        "1 where nothing was probed in the last round: job, a Slurm job has the node; slurm-silent, "
        "Slurm does not say.");
    for (const std::string_view reason : {"job", "slurm-silent"})
      out_.sample("railbed_probe_paused", {{"reason", reason}}, state_.last.pause.reason == reason ? 1 : 0);
    out_.number("railbed_probe_most_bytes_per_minute", "gauge",
                "What probes put on all wires of this node at most, both ways, others' included.",
                state_.bytes_per_minute);
  }

  void add_histogram() {
    constexpr std::string_view kName = "railbed_probe_round_trip_seconds";
    out_.announce(kName, "histogram",
                  "Round trips of probes: a small message and its answer by TCP, an 8-byte read by RDMA.");
    for (const auto& [key, series] : state_.series) add_buckets(kName, key, series.round_trips);
  }
  void add_buckets(std::string_view name, const ProbeState::Key& key, const RoundTrips& trips) {
    const auto& [rail, peer, transport] = key;
    const std::string bucket = fmt::format("{}_bucket", name);
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < trips.counts.size(); ++i) {
      so_far += trips.counts[i];
      const std::string bound = i < kRoundTripBounds.size() ? fmt::format("{}", kRoundTripBounds[i]) : "+Inf";
      out_.sample(bucket, {{"rail", rail}, {"peer", peer}, {"transport", word(transport)}, {"le", bound}},
                  so_far);
    }
    const Exposition::Labels labels = {{"rail", rail}, {"peer", peer}, {"transport", word(transport)}};
    out_.sample(fmt::format("{}_sum", name), labels, trips.sum);
    out_.sample(fmt::format("{}_count", name), labels, trips.total);
  }

  void add_counts() {
    each("railbed_probe_messages_sent_total", "counter", "Messages that probes sent, or reads.",
         [](const ProbeSeries& series) { return std::optional(series.sent); });
    each("railbed_probe_messages_lost_total", "counter", "Of them, those that brought no answer in time.",
         [](const ProbeSeries& series) { return std::optional(series.lost); });
    out_.announce("railbed_probe_failures_total", "counter",
                  "Probes that ended before they were through: unreachable, stranger, refused, lost, rdma.");
    for (const auto& [key, series] : state_.series)
      for (const auto& [reason, count] : series.failures) {
        const auto& [rail, peer, transport] = key;
        out_.sample(
            "railbed_probe_failures_total",
            {{"rail", rail}, {"peer", peer}, {"transport", word(transport)}, {"reason", word(reason)}},
            count);
      }
    out_.announce("railbed_probe_skipped_total", "counter",
                  "Probes that were not made because the peer wants to be left alone: job, slurm-silent.");
    for (const auto& [key, count] : state_.skipped)
      out_.sample("railbed_probe_skipped_total", {{"rail", key.first}, {"reason", key.second}}, count);
  }

  void add_gauges() {
    each("railbed_probe_success_timestamp_seconds", "gauge", "When a probe was last answered.",
         [](const ProbeSeries& series) { return series.last_success; });
    each("railbed_probe_latest_round_trip_seconds", "gauge", "Median of the last probe that was answered.",
         [](const ProbeSeries& series) { return series.latest; });
    out_.announce("railbed_probe_floor_seconds", "gauge",
                  "The least that an RDMA read can take on the rail, by arithmetic on this node's facts.");
    for (const auto& [rail, seconds] : state_.floors)
      out_.sample("railbed_probe_floor_seconds", {{"rail", rail}, {"transport", "rdma"}}, seconds);
  }

  // Exports failures by peer on rails of every size. Peers without a failure have no series.
  void add_failed_now() {
    out_.announce("railbed_probe_failed", "gauge",
                  "Always 1: what failed in the last round, and why; of a large rail the peer as well.");
    std::size_t told = 0;
    for (const PeerProbe& probe : state_.last.probes) {
      const auto tell = [&](ProbeTransport transport, const ProbeBurst& burst) {
        if (burst.reason == ProbeReason::kNone || told++ >= kMostTold) return;
        out_.sample("railbed_probe_failed",
                    {{"rail", probe.rail},
                     {"peer", probe.peer},
                     {"transport", word(transport)},
                     {"reason", word(burst.reason)}},
                    1);
      };
      tell(ProbeTransport::kTcp, probe.tcp);
      if (probe.rdma) tell(ProbeTransport::kRdma, *probe.rdma);
    }
  }

  void add_priorities() {
    out_.announce(
        "railbed_probe_priority", "gauge",
        "1 where the packets of the last probe by RDMA moved the priority that they should go by, 0 "
        "where that stood still and another moved; none where it cannot be told.");
    std::size_t told = 0;
    for (const PeerProbe& probe : state_.last.probes)
      for (const PrioritySight& sight : probe.priorities) {
        if (sight.verdict == PriorityVerdict::kUntold || told++ >= 4 * kMostTold) continue;
        out_.sample("railbed_probe_priority",
                    {{"rail", probe.rail},
                     {"peer", probe.peer},
                     {"end", sight.there ? "there" : "here"},
                     {"direction", sight.sent ? "sent" : "received"},
                     {"expected", std::to_string(sight.expected)},
                     {"seen", sight.seen}},
                    sight.verdict == PriorityVerdict::kRight ? 1 : 0);
      }
    out_.number("railbed_probe_priorities_untold", "gauge",
                "Of the last round's probes by RDMA, those of which no counter tells at one end at least.",
                static_cast<double>(untold()));
  }
  std::size_t untold() const {
    std::size_t count = 0;
    for (const PeerProbe& probe : state_.last.probes) {
      bool missing = !probe.priority_untold.empty();
      for (const PrioritySight& sight : probe.priorities)
        missing = missing || sight.verdict == PriorityVerdict::kUntold;
      count += missing ? 1 : 0;
    }
    return count;
  }

  void add_service() {
    out_.number("railbed_probe_visits_total", "counter", "Probes of others that were let in.",
                static_cast<double>(state_.service.visits));
    out_.number("railbed_probe_turned_away_total", "counter", "Connections that were not.",
                static_cast<double>(state_.service.turned_away));
    out_.announce("railbed_probe_closed", "gauge", "1 for each rail on which nobody can be answered now.");
    for (const auto& [rail, why] : state_.service.trouble)
      out_.sample("railbed_probe_closed", {{"rail", rail}}, 1);
  }

  const ProbeState& state_;
  Exposition& out_;
};

}  // namespace

void add_probes(const NodeState& state, Exposition& out) {
  if (state.probes) ProbeFamilies(*state.probes, out).add();
}

}  // namespace railbed

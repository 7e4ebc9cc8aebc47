// Measurements compared with each other: both directions of a path, a rail with the other rails and with the
// management network. Also reports other work that nodes did during a measurement.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "results/all_rails.h"
#include "verify/areas.h"
#include "verify/judge.h"
#include "verify/numbers.h"

namespace railbed {
namespace {

// Limits of the slower direction as a share of the faster one. A full-duplex link carries the same both ways,
// and each direction must reach 90 % of one ceiling (measured.bandwidth); 80 % of the other direction allows
// for noise. Paths that processors serve (TCP, software RDMA) differ by a factor of two between sound nodes
// of two generations, because sending costs less than receiving: they warn below that and fail at twice that.
// Our values.
struct WayLimits {
  double warns = 0;
  double fails = 0;
};
constexpr WayLimits kAdapterWays{0.8, 0.5};
constexpr WayLimits kProcessorWays{0.5, 0.25};

// A latency warns above three times its reference and fails above ten times. The rails of one pair are built
// alike, and a round trip over the management network crosses more hops, not fewer. The margin is what a
// sound end may add to any single number: a processor that has to wake up (133 µs to leave C6, skx_cstates of
// the kernel's drivers/idle/intel_idle.c) and interrupts that its adapter delays. Adapters that are polled
// need neither. Our values.
constexpr double kSlowWarns = 3;
constexpr double kSlowFails = 10;
constexpr double kWakeUpMargin = 150e3;  // ns
constexpr double kPolledMargin = 5e3;

// Upper limits of half a round trip of a small RDMA message between adapters. The worst published figures are
// 2.5 µs back to back and 3 µs for each of three switches; twice that leaves room for slow processors. Our
// values.
constexpr double kAdapterLatency = 2 * 2.5e3;
constexpr double kSwitchesLatency = 2 * 3 * 3e3;
constexpr std::uint64_t kSmallMessage = 256;

// Two nodes on a rail, in either direction.
struct Link {
  std::string rail, one, other;
  auto operator<=>(const Link&) const = default;
};
Link link_of(const Measurement& of) {
  const auto [one, other] = std::minmax(of.from.node, of.to.node);
  return {of.rail, one, other};
}
std::string link_name(const Link& link) {
  return fmt::format("{} ↔ {} on {}", link.one, link.other, link.rail);
}
Case about_link(Judge& judge, const Link& link) {
  return judge.on_cluster(link_name(link), {"rail:" + link.rail, "node:" + link.one, "node:" + link.other});
}

// Returns true if the path limits the measurement. It does not for datagrams (one packet per message), both
// directions at once, several measurements at once, and loopback.
bool is_of_the_path(const Measurement& measurement) {
  return !measurement.operation.starts_with("datagram") && !measurement.operation.ends_with(" duplex") &&
         !measurement.operation.ends_with("together") && !is_at_once(measurement) &&
         measurement.from.interface != "lo";
}

// --- both directions ---

// The best measurement of each direction, for one engine and operation.
struct BothWays {
  std::array<const Measurement*, 2> best{};

  void take(const Measurement& measurement, bool forth) {
    const Measurement*& kept = best[forth ? 0 : 1];
    if (kept == nullptr || measurement.summary.median > kept->summary.median) kept = &measurement;
  }
  bool complete() const { return best[0] != nullptr && best[1] != nullptr; }
  const Measurement& slow() const {
    return *best[best[0]->summary.median <= best[1]->summary.median ? 0 : 1];
  }
  const Measurement& fast() const { return *best[&slow() == best[0] ? 1 : 0]; }
  double share() const { return slow().summary.median / fast().summary.median; }
};
using LinkWays = std::map<std::pair<Engine, std::string>, BothWays>;

std::map<Link, LinkWays> ways_of(const Survey& survey) {
  std::map<Link, LinkWays> all;
  for (const Measurement& measurement : survey.evidence.measurements) {
    if (measurement.metric != Metric::kBandwidth || !has_number(measurement) || !is_of_the_path(measurement))
      continue;
    if (measurement.from.node == measurement.to.node || measurement.to.node.empty()) continue;
    const Link link = link_of(measurement);
    all[link][{measurement.engine, measurement.operation}].take(measurement,
                                                                measurement.from.node == link.one);
  }
  return all;
}

Complaint one_way_slow(const BothWays& ways, double warns) {
  const Measurement& slow = ways.slow();
  const std::string rate = to_text(BitRate{slow.summary.median});
  const std::string other = to_text(BitRate{ways.fast().summary.median});
  return {.message = fmt::format("{} from {} to {} on {} carries {}, {:.0f} % of the {} the other way",
                                 name_of(slow), slow.from.node, slow.to.node, slow.rail, rate,
                                 100 * ways.share(), other),
          .expected = fmt::format("at least {:.0f} % of the other way", 100 * warns),
          .observed = fmt::format("{} → {} {}, back {}", slow.from.node, slow.to.node, rate, other),
          .remedy = {
              fmt::format("On {} look for a limit on what is sent (first command), on both ends for "
                          "drops, errors and pause frames (second).",
                          slow.from.node),
              {command("tc -s qdisc show dev {}", slow.from.interface),
               command("ethtool -S {} | grep -i -e drop -e discard -e err -e pause", slow.from.interface)}}};
}

// Judges the engine whose directions differ most relative to its limits. Not applicable if no engine has
// numbers for both directions.
void judge_ways(Case& each, const Survey& survey, const LinkWays& engines) {
  const BothWays* worst = nullptr;
  WayLimits limits;
  std::vector<std::string> seen;
  for (const auto& [key, ways] : engines) {
    if (!ways.complete()) continue;
    const WayLimits own = is_software(survey, ways.slow()) ? kProcessorWays : kAdapterWays;
    seen.push_back(fmt::format("{} {:.0f} %", name_of(ways.slow()), 100 * ways.share()));
    if (worst != nullptr && ways.share() / own.warns >= worst->share() / limits.warns) continue;
    worst = &ways;
    limits = own;
  }
  if (worst == nullptr) return each.not_applicable("only one way has a number");
  if (worst->share() >= limits.warns)
    return each.pass(fmt::format("the slower way carries, of the other, {}", fmt::join(seen, ", ")));
  const Summary& slow = worst->slow().summary;
  const Summary& fast = worst->fast().summary;
  if (slow.high > limits.warns * fast.low && fast.low > 0 && worst->share() >= limits.fails)
    return each.unknown(
        fmt::format("{} varies too much within a run to tell its two ways apart: {} to {}, "
                    "back {} to {}; measure for longer (--seconds)",
                    name_of(worst->slow()), to_text(BitRate{slow.low}), to_text(BitRate{slow.high}),
                    to_text(BitRate{fast.low}), to_text(BitRate{fast.high})));
  Complaint complaint = one_way_slow(*worst, limits.warns);
  const bool lacks = may_lack_for_traffic(worst->slow(), BitRate{limits.warns * fast.median});
  if (excused_by_traffic(each, worst->slow(), lacks, complaint)) return;
  accuse(each, worst->share() < limits.fails, busy_ends({&worst->slow(), &worst->fast()}),
         std::move(complaint));
}

void both_ways(const Survey& survey, Judge& judge) {
  for (const auto& [link, engines] : ways_of(survey)) {
    Case each = about_link(judge, link);
    judge_ways(each, survey, engines);
  }
}

// --- latency ---

// Latencies that can be compared: one engine, operation and message size.
using LatencyKind = std::tuple<Engine, std::string, std::uint64_t>;
LatencyKind kind_of(const Measurement& measurement) {
  return {measurement.engine, measurement.operation, measurement.message_bytes};
}
// The best latency of each kind.
using Latencies = std::map<LatencyKind, const Measurement*>;

std::map<Link, Latencies> latencies_of(const Survey& survey) {
  std::map<Link, Latencies> all;
  for (const Measurement& measurement : survey.evidence.measurements) {
    if (measurement.metric != Metric::kLatency || !has_number(measurement) || measurement.to.node.empty())
      continue;
    if (measurement.from.node == measurement.to.node || measurement.summary.median <= 0) continue;
    const Measurement*& kept = all[link_of(measurement)][kind_of(measurement)];
    if (kept == nullptr || measurement.summary.median < kept->summary.median) kept = &measurement;
  }
  return all;
}

// A reference that a latency is compared with.
struct Reference {
  double nanoseconds = 0;
  std::string name;      // "the other rails between them"
  double warns = 0;      // the latency is slow from here on …
  double fails = 1e300;  // … and surely faulty from here on
};

Reference times(double reference, double margin, std::string name) {
  return {reference, std::move(name), kSlowWarns * reference + margin, kSlowFails * reference + margin};
}

bool are_alike(const Rail& a, const Rail& b) {
  return a.fabric == b.fabric && a.speed == b.speed && a.topology == b.topology &&
         a.rdma_driver == b.rdma_driver;
}

class LatencyJudge {
 public:
  LatencyJudge(const Survey& survey, const std::map<Link, Latencies>& all) : survey_(survey), all_(all) {}

  void judge(Case& each, const Link& link, const Latencies& own) const {
    const Measurement* worst = nullptr;
    Reference broken;
    std::vector<std::string> held;
    for (const auto& [kind, one] : own)
      for (const Reference& reference : references(link, *one)) {
        held.push_back(fmt::format("{} {} against {} of {}", name_of(*one), text(one->summary.median),
                                   text(reference.nanoseconds), reference.name));
        const double excess = one->summary.median / reference.warns;
        if (excess <= 1 || (worst != nullptr && excess <= worst->summary.median / broken.warns)) continue;
        worst = one;
        broken = reference;
      }
    if (held.empty())
      return each.not_applicable(
          "nothing to hold it against: no other rail like it, and no ping over the management network");
    if (worst == nullptr) return each.pass(fmt::format("{}", fmt::join(held, "; ")));
    Complaint slow = complaint(link, *worst, broken);
    if (excused_by_traffic(each, *worst, may_be_late_for_traffic(*worst), slow)) return;
    accuse(each, worst->summary.median > broken.fails, busy_ends({worst}), std::move(slow));
  }

 private:
  static std::string text(double nanoseconds) { return to_text(Nanoseconds{nanoseconds}); }

  std::vector<Reference> references(const Link& link, const Measurement& measurement) const {
    std::vector<Reference> found;
    const double margin = is_software(survey_, measurement) ? kWakeUpMargin : kPolledMargin;
    if (const auto others = other_rails(link, measurement))
      found.push_back(times(*others, margin, "the other rails between them"));
    if (const Measurement* ping = management_ping(link, measurement))
      found.push_back(times(ping->summary.median, margin, "ping over the management network"));
    if (const auto most = most_of_adapters(link, measurement))
      found.push_back({*most, "the most that adapters and switches need", *most});
    return found;
  }

  // Returns the median over the rails that are built alike; nullopt if there are none.
  std::optional<double> other_rails(const Link& link, const Measurement& measurement) const {
    const Rail* rail = find_rail(survey_.evidence.cluster, link.rail);
    if (rail == nullptr) return std::nullopt;
    std::vector<double> others;
    for (const Rail& other : survey_.evidence.cluster.rails) {
      if (other.name == link.rail || !are_alike(*rail, other)) continue;
      const auto found = all_.find({other.name, link.one, link.other});
      if (found == all_.end()) continue;
      if (const auto same = found->second.find(kind_of(measurement)); same != found->second.end())
        others.push_back(same->second->summary.median);
    }
    if (others.empty()) return std::nullopt;
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>((others.size() - 1) / 2);
    std::ranges::nth_element(others, middle);
    return *middle;
  }

  const Measurement* management_ping(const Link& link, const Measurement& measurement) const {
    if (measurement.engine != Engine::kPing) return nullptr;
    const auto found = all_.find({std::string(kManagement), link.one, link.other});
    if (found == all_.end()) return nullptr;
    const auto same = found->second.find(kind_of(measurement));
    return same == found->second.end() ? nullptr : same->second;
  }

  std::optional<double> most_of_adapters(const Link& link, const Measurement& measurement) const {
    const Rail* rail = find_rail(survey_.evidence.cluster, link.rail);
    if (rail == nullptr || is_software(survey_, measurement) || measurement.message_bytes > kSmallMessage ||
        measurement.operation == "read" || measurement.from.device.empty())
      return std::nullopt;
    return kAdapterLatency + (rail->topology == Topology::kSwitch ? kSwitchesLatency : 0);
  }

  static Complaint complaint(const Link& link, const Measurement& measurement, const Reference& reference) {
    return {.message = fmt::format("{} takes {} between {} and {} on {}, {:.0f} times the {} of {}",
                                   name_of(measurement), text(measurement.summary.median), link.one,
                                   link.other, link.rail, measurement.summary.median / reference.nanoseconds,
                                   text(reference.nanoseconds), reference.name),
            .expected = fmt::format("at most {}", text(reference.warns)),
            .observed = text(measurement.summary.median),
            .remedy = {fmt::format("Look on both ends for what delays packets on {} (a queueing discipline, "
                                   "interrupts held back), and at the route: it must not leave the rail.",
                                   link.rail),
                       {command("tc -s qdisc show dev {}", measurement.from.interface),
                        command("ethtool -c {}", measurement.from.interface),
                        command("ip route get {}", measurement.to.address)}}};
  }

  const Survey& survey_;
  const std::map<Link, Latencies>& all_;
};

void latency(const Survey& survey, Judge& judge) {
  const auto all = latencies_of(survey);
  const LatencyJudge latencies(survey, all);
  for (const auto& [link, own] : all) {
    if (link.rail == kManagement) continue;
    Case each = about_link(judge, link);
    latencies.judge(each, link, own);
  }
}

// --- other work ---

double share_of(const Endpoint& end) { return end.other_work->busy / end.other_work->processors; }

// Returns each node's endpoint with the most other work.
std::map<std::string, const Endpoint*> busiest_of(const Survey& survey) {
  std::map<std::string, const Endpoint*> found;
  for (const Measurement& measurement : survey.evidence.measurements)
    for (const Endpoint* end : {&measurement.from, &measurement.to}) {
      if (!end->other_work || end->other_work->processors <= 0) continue;
      const Endpoint*& kept = found[end->node];
      if (kept == nullptr || share_of(*end) > share_of(*kept)) kept = end;
    }
  return found;
}

void node_busy(const Survey& survey, Judge& judge) {
  for (const auto& [node, end] : busiest_of(survey)) {
    Case each = judge.on_node(node);
    const std::string observed = fmt::format("{:.1f} of {} processors at other work", end->other_work->busy,
                                             end->other_work->processors);
    if (!is_busy(*end)) {
      each.pass(observed);
      continue;
    }
    each.warn({.message = busy_text(*end) + ": its numbers tell less",
               .expected = fmt::format("below {:.0f} % of the processors", 100 * kBusyShare),
               .observed = observed,
               .remedy = {"Measure again when the node is idle. What runs there now:",
                          {"ps -eo pid,user,pcpu,comm --sort=-pcpu | head"}}});
  }
}

}  // namespace

std::span<const Rule> compared_rules() {
  static const Rule kRules[] = {
      {.id = "measured.node-busy",
       .title = "nodes did nothing else while they were measured",
       .why =
           "Other work takes processors from the measurement: a slow number may be its doing, not the path's.",
       .source =
           "processor time of all programs but railbed's, while each number was measured (/proc/PID/stat)",
       .standard = "below 10 % of the processors (ours: the tenth that a sound path may miss its ceiling by)",
       .remedy = "Measure again when the node is idle.",
       .fixture = "measured-node-busy",
       .explained_by = {},
       .check = node_busy},
      {.id = "measured.both-ways",
       .title = "both ways of a link carry the same",
       .why = "A link is full duplex. Where one way carries less, collectives wait for it in every round.",
       .source = "bandwidth from each node to the other, one after the other",
       .standard =
           "the slower way has 80 % of the other (fails below 50 %); of TCP and software RDMA 50 % (25 %)",
       .remedy =
           "Look at limits on what the slow way's sender sends, and at drops and pause frames at both ends.",
       .fixture = "measured-one-way-slow",
       .explained_by = {"net.held-back", "measured.loss", "measured.bandwidth"},
       .check = both_ways},
      {.id = "measured.latency",
       .title = "latency is what the rail should have",
       .why = "Each step of a collective waits for it; a delay on one rail holds up all of them.",
       .source = "ping-pongs and ICMP echo on the rail, on rails like it and over the management network",
       .standard =
           "at most three times other rails and ping over the management network (fails from ten times), "
           "150 µs of wake-ups allowed for; of adapters 5 µs back to back, 23 µs over switches",
       .remedy = "Look at queueing disciplines, interrupt moderation, and a route that leaves the rail.",
       .fixture = "measured-latency-high",
       .explained_by = {"net.held-back", "measured.loss", "measured.rdma-beats-tcp", "net.duplicate-address"},
       .check = latency},
  };
  return kRules;
}

}  // namespace railbed

// Measurements of the engines between nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "hardware/ceilings.h"
#include "inventory/hostlist.h"
#include "results/all_rails.h"
#include "verify/areas.h"
#include "verify/floor.h"
#include "verify/judge.h"
#include "verify/numbers.h"

namespace railbed {
namespace {

std::string path_text(const Measurement& measurement) {
  return fmt::format("{} → {} on {}", measurement.from.node, measurement.to.node, measurement.rail);
}

std::string_view engine_text(Engine engine) {
  if (engine == Engine::kPing) return "ping";
  if (engine == Engine::kRdmaCm) return "RDMA-CM";
  return engine == Engine::kRdma ? "RDMA" : "TCP";
}

// Returns "RDMA", or "RDMA send": a write is the usual operation and is not named.
std::string transport_text(const Measurement& measurement) {
  std::string text(engine_text(measurement.engine));
  return measurement.operation.empty() || measurement.operation == "write"
             ? text
             : text + ' ' + measurement.operation;
}

std::string what_text(const Measurement& measurement) {
  return fmt::format("{} {} {}", transport_text(measurement),
                     measurement.metric == Metric::kBandwidth ? "bandwidth" : "latency",
                     path_text(measurement));
}

Case about(Judge& judge, const Measurement& measurement) {
  return judge.on_cluster(
      what_text(measurement),
      {"rail:" + measurement.rail, "node:" + measurement.from.node, "node:" + measurement.to.node});
}

// One direction between two nodes on a rail.
struct Path {
  std::string rail, from, to;
  auto operator<=>(const Path&) const = default;
};
// The best measurement of each path, engine, metric and operation. Small messages are measured, too, and
// their low numbers prove nothing.
using Best = std::map<std::tuple<Path, Engine, Metric, std::string>, const Measurement*>;

bool is_better(const Measurement& measurement, const Measurement* than) {
  if (than == nullptr) return true;
  return measurement.metric == Metric::kBandwidth ? measurement.summary.median > than->summary.median
                                                  : measurement.summary.median < than->summary.median;
}

Best best_of(const std::vector<Measurement>& measurements) {
  Best best;
  for (const Measurement& measurement : measurements) {
    if (measurement.failure || measurement.summary.samples == 0) continue;
    const Path path{measurement.rail, measurement.from.node, measurement.to.node};
    const Measurement*& kept = best[{path, measurement.engine, measurement.metric, measurement.operation}];
    if (is_better(measurement, kept)) kept = &measurement;
  }
  return best;
}

// Returns what sound hardware is published to reach with this traffic over the wire of this ceiling.
ProvenRate proven_of(const Measurement& measurement) {
  const auto traffic = traffic_of(measurement);
  if (!traffic) return {{}, "no limit of this operation is known", "", ""};
  // Runs of other programs may name their limits in another way: then the highest is taken for the wire.
  const std::vector<Limit>& limits = measurement.ceiling.limits;
  const Limit* wire = find_wire(measurement.ceiling);
  if (wire == nullptr && !limits.empty()) wire = &*std::ranges::max_element(limits, {}, &Limit::rate);
  return proven_rate(*traffic, wire == nullptr ? BitRate{} : wire->rate);
}

// Returns why an RDMA operation is compared neither with the path's ceiling nor with TCP; empty if it is.
std::string why_not_judged(const Measurement& measurement) {
  if (is_at_once(measurement)) return "all rails at once: measured.all-rails judges their total";
  const auto traffic = traffic_of(measurement);
  const bool whole = traffic && traffic->operation != Operation::kDatagram && !traffic->both_ways;
  return whole ? "" : proven_of(measurement).why;
}

// A user who requested measurements and got none must not read that all is well.
void anything(const Survey& survey, Judge& judge) {
  const Evidence& evidence = survey.evidence;
  if (!evidence.measured || !evidence.measurements.empty()) return;
  const bool has_rails = !evidence.cluster.rails.empty();
  std::vector<std::string> names;
  for (const auto& [name, facts] : evidence.nodes) names.push_back(name);
  const Remedy remedy =
      has_rails ? Remedy{"Put at least two nodes on a rail, and see that they answer."}
                : Remedy{"Let init write the nodes' rails to a new file, and compare it with yours.",
                         {command("railbed init -o proposed.yaml {}", fold_hostlist(names))}};
  Things touches;
  for (const Unreachable& lost : evidence.unreachable) touches.add("node:" + lost.node);
  judge.on_cluster("rails", std::move(touches))
      .warn({.message = has_rails ? "nothing was measured: no rail has two nodes that answered"
                                  : "nothing was measured: cluster.yaml has no rails",
             .expected = "numbers of each rail",
             .observed = "none",
             .remedy = remedy});
}

struct Losses {
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;
  std::string evidence;

  // Returns the share that the loss rate exceeds with 99 % confidence: one lost packet out of a few hundred
  // proves nothing yet. Computes the lower limit of a Poisson count by Wilson and Hilferty's approximation.
  double share() const {
    if (lost == 0) return 0;
    const auto n = static_cast<double>(lost);
    const double root = 1 - 1 / (9 * n) - 2.326 / (3 * std::sqrt(n));
    return n * std::pow(std::max(root, 0.0), 3) / static_cast<double>(packets);
  }
  std::string to_text(std::string_view engine) const {
    return fmt::format("{} of {} {} packets ({:.2g} %)", lost, packets, engine,
                       100.0 * static_cast<double>(lost) / static_cast<double>(packets));
  }
};
using PathLosses = std::map<Engine, Losses>;

// Sums losses by link, whichever end sends: a bad cable shows in both directions.
std::map<Path, PathLosses> losses_of(const std::vector<Measurement>& measurements) {
  std::map<Path, PathLosses> all;
  for (const Measurement& measurement : measurements) {
    if (measurement.failure || measurement.engine == Engine::kPing)
      continue;  // a missing reply to a ping may be no loss
    // While all rails carry traffic, TCP may retransmit only because it waited for a processor. A total would
    // count the same losses twice.
    if (is_total(measurement) || (is_at_once(measurement) && measurement.engine == Engine::kTcp)) continue;
    const auto [first, second] = std::minmax(measurement.from.node, measurement.to.node);
    Losses& losses = all[{measurement.rail, first, second}][measurement.engine];
    if (measurement.from.interface == "lo") continue;  // retransmissions there only waited for a processor
    losses.packets += measurement.packets;
    losses.lost += measurement.lost;
    for (const auto& [counter, delta] : measurement.counter_deltas)
      if (delta != 0)
        losses.evidence += fmt::format("{}{} +{}", losses.evidence.empty() ? "" : ", ", counter, delta);
  }
  return all;
}

// Returns the status of a loss rate. RoCE has to be lossless. TCP fills a queue until packets drop, which is
// how it finds its rate, so only a high rate is a fault.
Status loss_status(Engine engine, double share) {
  if (engine == Engine::kTcp) return share > kTcpLossWarns ? Status::kWarn : Status::kPass;
  return share > kLossFails ? Status::kFail : share > kLossWarns ? Status::kWarn : Status::kPass;
}

// Returns whether lost packets ended the measurement: an adapter gives a packet up once it was lost several times in a
// row. It does so on a dead path, too, so RDMA must have moved data over this one, and have lost too many packets.
// A cause that begins with another trouble, as a port that went down, stands for itself.
bool ended_by_loss(const Measurement& measurement, const std::map<Path, PathLosses>& losses) {
  if (!measurement.failure || !measurement.failure->cause.starts_with("IBV_WC_RETRY_EXC_ERR")) return false;
  const auto [first, second] = std::minmax(measurement.from.node, measurement.to.node);
  const auto path = losses.find({measurement.rail, first, second});
  if (path == losses.end()) return false;
  const auto of_rdma = path->second.find(Engine::kRdma);
  return of_rdma != path->second.end() && of_rdma->second.packets > 0 &&
         loss_status(Engine::kRdma, of_rdma->second.share()) == Status::kFail;
}

void judge_failure(Case& each, const Measurement& measurement, const Failure& failure) {
  each.fail(
      {.message = fmt::format("{} failed ({}): {}", what_text(measurement), failure.stage, failure.cause),
       .expected = "a number",
       .observed = failure.cause,
       .remedy = {
           failure.remedy.empty() ? "Run it again; then look at both ends' kernel logs." : failure.remedy,
           {command("railbed bench {} {} {}", measurement.engine == Engine::kRdma ? "rdma" : "tcp",
                    measurement.from.node, measurement.to.node)}}});
}

// Reports all failures with the same root as one finding, under the first of them.
void judge_root(Judge& judge, const Measurement& measurement, std::ptrdiff_t count) {
  const FailureRoot& root = *root_of(measurement);
  const auto [first, second] = std::minmax(measurement.from.node, measurement.to.node);
  Case each = judge.on_cluster(fmt::format("{} – {} on {}", first, second, measurement.rail),
                               {"rail:" + measurement.rail, "node:" + first, "node:" + second});
  for (const std::string& line : root.seen) each.add_evidence(line);
  each.fail(
      {.message = fmt::format("{} {} between {} and {} on {} failed: {}", count,
                              count == 1 ? "measurement" : "measurements", first, second, measurement.rail,
                              root.cause),
       .expected = "a path that carries",
       .observed = root.cause,
       .remedy = {measurement.failure->remedy,
                  {command("railbed bench {} {} {}", measurement.engine == Engine::kRdma ? "rdma" : "tcp",
                           measurement.from.node, measurement.to.node)}}});
}

void failed(const Survey& survey, Judge& judge) {
  const std::vector<Measurement>& all = survey.evidence.measurements;
  const auto losses = losses_of(all);
  for (const Measurement& measurement : all) {
    if (root_of(measurement) != nullptr) {
      const auto alike = [&](const Measurement& other) { return same_root(measurement, other); };
      if (&*std::ranges::find_if(all, alike) == &measurement)
        judge_root(judge, measurement, std::ranges::count_if(all, alike));
      continue;
    }
    Case each = about(judge, measurement);
    if (measurement.failure && measurement.engine == Engine::kPing)
      each.not_applicable("no ping: " +
                          // firewalls drop pings, and nothing else needs them
                          measurement.failure->cause);
    else if (ended_by_loss(measurement, losses))
      each.not_applicable("lost packets ended it: measured.loss");
    else if (measurement.failure)
      judge_failure(each, measurement, *measurement.failure);
    else
      each.pass("measured");
  }
}

void judge_data(Case& each, const Measurement& measurement) {
  if (measurement.checked_bytes == 0) return each.not_applicable("no data was compared");
  if (measurement.wrong_bytes == 0)
    return each.pass(fmt::format("{} compared", to_text(ByteCount{measurement.checked_bytes})));
  each.fail(
      {.message = fmt::format("{}: {} of {} compared bytes arrived wrong", what_text(measurement),
                              measurement.wrong_bytes, measurement.checked_bytes),
       .expected = "0 wrong bytes",
       .observed = std::to_string(measurement.wrong_bytes),
       .remedy = {"Take the path out of service; test memory, then swap adapter and cable one at a time."}});
}

void data_intact(const Survey& survey, Judge& judge) {
  for (const Measurement& measurement : survey.evidence.measurements) {
    if (measurement.failure) continue;
    Case each = about(judge, measurement);
    judge_data(each, measurement);
  }
}

// Returns the share of the ceiling that cluster.yaml demands of the sending node.
double wanted_fraction(const Survey& survey, const Measurement& measurement) {
  const Node* wanted = find_node(survey.evidence.cluster, measurement.from.node);
  return wanted != nullptr ? wanted->expect.fraction_of_ceiling : Expectations{}.fraction_of_ceiling;
}

// A bandwidth beside the rate that it must reach.
struct Judged {
  BitRate floor;
  std::string why_not = {};  // why it is not judged; empty if it is
  bool unknown = false;      // cluster.yaml's fraction judges nothing
  ProvenRate proven = {};
};

Judged judged_of(const Measurement& measurement, double fraction) {
  if (measurement.engine == Engine::kTcp)
    return {{}, "one TCP stream is bound by a processor core, not by the path"};
  if (auto why = why_not_judged(measurement); !why.empty()) return {{}, std::move(why)};
  if (measurement.ceiling.nominal || measurement.ceiling.limits.empty())
    return {{}, measurement.ceiling.note.empty() ? "no ceiling is known" : measurement.ceiling.note};
  const auto floor = bandwidth_floor(measurement.ceiling, fraction);
  if (!floor) return {{}, floor.error().text, true};
  ProvenRate proven = proven_of(measurement);
  if (!proven.rate) {
    std::string why = proven.why;
    if (!proven.decides.empty())
      why += fmt::format("; railbed bench rdma {} {} {} decides", measurement.from.node, measurement.to.node,
                         proven.decides);
    return {{}, std::move(why)};
  }
  return {std::min(*floor, *proven.rate * fraction), "", false, std::move(proven)};
}

void judge_bandwidth(Case& each, const Measurement& measurement, double fraction) {
  const Judged judged = judged_of(measurement, fraction);
  if (judged.unknown) return each.unknown(judged.why_not);
  if (!judged.why_not.empty()) return each.not_applicable(judged.why_not);
  const BitRate have{measurement.summary.median};
  const Limit& binding = *std::ranges::min_element(measurement.ceiling.limits, {}, &Limit::rate);
  each.add_evidence(binding.source);
  const ProvenRate& proven = judged.proven;
  if (!proven.source.empty()) each.add_evidence(fmt::format("{} ({})", proven.why, proven.source));
  if (have >= judged.floor) return each.pass(fmt::format("{} of {}", to_text(have), to_text(binding.rate)));
  // Where sound hardware stays below the limit, its rate is what counts.
  const BitRate of{judged.floor.bits_per_second / fraction};
  const std::string less = of < binding.rate ? fmt::format("; sound hardware reaches {}", to_text(of)) : "";
  Complaint slow{
      .message =
          fmt::format("{} is {}, {:.0f} % of the {} that {} allows{}", what_text(measurement), to_text(have),
                      100 * (have / binding.rate), to_text(binding.rate), binding.name, less),
      .expected =
          fmt::format("at least {} ({:.0f} % of {})", to_text(judged.floor), 100 * fraction, to_text(of)),
      .observed = to_text(have),
      .remedy = {"Look at PCIe, NUMA placement and error counters of both ends; measure the two nodes alone.",
                 {command("railbed bench rdma {} {}", measurement.from.node, measurement.to.node)}}};
  if (!excused_by_traffic(each, measurement, may_lack_for_traffic(measurement, judged.floor), slow))
    each.fail(std::move(slow));
}

// Of each path and operation, judges the measurement that is nearest to what it must reach. Only if none can be
// judged, the fastest one says why.
void bandwidth(const Survey& survey, Judge& judge) {
  std::map<std::tuple<Path, Engine, std::string>, std::pair<double, const Measurement*>> nearest;
  for (const Measurement& measurement : survey.evidence.measurements) {
    if (measurement.failure || measurement.summary.samples == 0 || measurement.metric != Metric::kBandwidth)
      continue;
    const Judged judged = judged_of(measurement, wanted_fraction(survey, measurement));
    // A claimed speed makes the whole path's ceiling a claim.
    const double share = measurement.ceiling.nominal ? std::numeric_limits<double>::infinity()
                         : judged.why_not.empty() ? measurement.summary.median / judged.floor.bits_per_second
                                                  : -1 / (1 + measurement.summary.median);
    auto& [best, kept] = nearest[{{measurement.rail, measurement.from.node, measurement.to.node},
                                  measurement.engine,
                                  measurement.operation}];
    if (kept != nullptr && share <= best) continue;
    best = share;
    kept = &measurement;
  }
  for (const auto& [key, one] : nearest) {
    Case each = about(judge, *one.second);
    judge_bandwidth(each, *one.second, wanted_fraction(survey, *one.second));
  }
}

void judge_floor(Case& each, const Measurement& measurement) {
  for (const FloorPart& part : measurement.floor.parts)
    each.add_evidence(fmt::format("{}: {} = {}", part.name, to_text(part.time), part.source));
  const std::string have = to_text(Nanoseconds{measurement.summary.median});
  const std::string least = to_text(measurement.floor.time());
  if (measurement.summary.median >= measurement.floor.time().count())
    return each.pass(fmt::format("{}, floor {}", have, least));
  each.warn(
      {.message =
           fmt::format("{} is {}, below the {} that its path takes at least: the path is another one, or "
                       "the clock is wrong",
                       what_text(measurement), have, least),
       .expected = "at least " + least,
       .observed = have,
       .remedy = {
           fmt::format("Compare the rail's topology in cluster.yaml, and the speed that both ports state, "
                       "with what is plugged in; see by which clock {} measures.",
                       measurement.from.node),
           {"cat /sys/devices/system/clocksource/clocksource0/current_clocksource"}}});
}

void above_floor(const Survey& survey, Judge& judge) {
  for (const Measurement& measurement : survey.evidence.measurements) {
    if (measurement.failure || measurement.summary.samples == 0 || measurement.floor.parts.empty()) continue;
    Case each = about(judge, measurement);
    judge_floor(each, measurement);
  }
}

// Returns the best TCP result, over all operations; null if there is none.
const Measurement* best_tcp(const Best& best, const Path& path, Metric metric) {
  const Measurement* found = nullptr;
  for (auto at = best.lower_bound({path, Engine::kTcp, metric, ""}); at != best.end(); ++at) {
    const auto& [of_path, engine, of_metric, operation] = at->first;
    if (of_path != path || engine != Engine::kTcp || of_metric != metric) break;
    if (is_better(*at->second, found)) found = at->second;
  }
  return found;
}

// Returns why this RDMA measurement cannot be compared with TCP; empty if it can.
std::string why_not_compared(const Survey& survey, const Measurement& rdma) {
  if (rdma.metric == Metric::kLatency && rdma.operation == "read")
    return "a read is timed to its answer, TCP half a round trip";
  if (auto why = why_not_judged(rdma); !why.empty()) return why;
  const Rail* rail = find_rail(survey.evidence.cluster, rdma.rail);
  return rail != nullptr && !rail->rdma_driver.empty() ? "software RDMA runs on the same processor as TCP"
                                                       : "";
}

void judge_against_tcp(Case& each, const Measurement& rdma, const Measurement& tcp) {
  const auto text = [&](double value) {
    return tcp.metric == Metric::kBandwidth ? to_text(BitRate{value}) : to_text(Nanoseconds{value});
  };
  const std::string own = text(rdma.summary.median);
  const std::string other = text(tcp.summary.median);
  const std::string both = fmt::format("RDMA {}, TCP {}", own, other);
  if (!is_better(tcp, &rdma)) return each.pass(both);
  Complaint slow{.message = fmt::format("{} is slower than TCP {}: {} against {}", transport_text(rdma),
                                        path_text(rdma), own, other),
                 .expected = "RDMA at least as good as TCP",
                 .observed = both,
                 .remedy = {"Check the RDMA MTU, packet loss, and that the port in use is the rail's."}};
  const bool can_be_why = rdma.metric == Metric::kBandwidth
                              ? may_lack_for_traffic(rdma, BitRate{tcp.summary.median})
                              : may_be_late_for_traffic(rdma);
  if (!excused_by_traffic(each, rdma, can_be_why, slow)) each.fail(std::move(slow));
}

void rdma_beats_tcp(const Survey& survey, Judge& judge) {
  const Best best = best_of(survey.evidence.measurements);
  for (const auto& [key, rdma] : best) {
    const auto& [path, engine, metric, operation] = key;
    if (engine != Engine::kRdma) continue;
    const Measurement* tcp = best_tcp(best, path, metric);
    if (tcp == nullptr) continue;
    Case each = about(judge, *rdma);
    if (const auto why = why_not_compared(survey, *rdma); !why.empty())
      each.not_applicable(why);
    else
      judge_against_tcp(each, *rdma, *tcp);
  }
}

Remedy find_losses(const RailPort* port, bool of_tcp_only) {
  return {
      of_tcp_only
          ? "Drops at either end, or none, mean a full queue: a limit or a slower hop on the way. Errors that "
            "grow mean the cable or its transceivers."
          : "Swap the cable if its errors grow; else look for congestion (PFC, ECN) and for drops at both "
            "ends.",
      {command("ethtool -S {} | grep -i -e drop -e discard -e err",
               port != nullptr ? port->interface : "INTERFACE"),
       of_tcp_only ? ShellCommand("tc -s qdisc show") : ShellCommand("rdma statistic show")}};
}

// Returns "; it ended RDMA bandwidth a → b on rail0", or how many measurements; empty if none.
std::string ended_text(std::span<const Measurement* const> ended) {
  if (ended.empty()) return "";
  return ended.size() == 1 ? "; it ended " + what_text(*ended.front())
                           : fmt::format("; it ended {} measurements", ended.size());
}

// `ended`: the measurements that it ended.
void judge_losses(Case& each, const Survey& survey, const Path& path, const PathLosses& engines,
                  std::span<const Measurement* const> ended) {
  constexpr std::size_t kShown = 8;
  for (const Measurement* one : ended.first(std::min(ended.size(), kShown)))
    each.add_evidence(fmt::format("{}: {}", what_text(*one), one->failure->cause));
  Status worst = Status::kPass;
  bool of_tcp_only = true;
  std::uint64_t counted = 0;
  std::vector<std::string> observed;
  for (const auto& [engine, losses] : engines) {
    counted += losses.packets;
    if (losses.packets == 0) continue;
    if (losses.lost > 0) observed.push_back(losses.to_text(engine_text(engine)));
    if (!losses.evidence.empty()) each.add_evidence(losses.evidence);
    const Status status = loss_status(engine, losses.share());
    if (status == Status::kPass) continue;
    of_tcp_only = of_tcp_only && engine == Engine::kTcp;
    if (worst != Status::kFail) worst = status;
  }
  const std::string text = fmt::format("{}", fmt::join(observed, ", "));
  if (counted == 0) return each.not_applicable("packets were not counted, or never left the machine");
  if (worst == Status::kPass) return each.pass(text.empty() ? "none lost" : text);
  const Rail* rail = find_rail(survey.evidence.cluster, path.rail);
  each.red(worst,
           {.message = fmt::format("{} loses packets between {} and {}: {} lost and sent again{}", path.rail,
                                   path.from, path.to, text, ended_text(ended)),
            .expected = fmt::format("below {} %", 100 * (of_tcp_only ? kTcpLossWarns : kLossWarns)),
            .observed = text,
            .remedy = find_losses(rail == nullptr ? nullptr : find_port(*rail, path.to), of_tcp_only)});
}

// Reports one finding per link: a bad cable shows in every number that was measured over it.
void path_loss(const Survey& survey, Judge& judge) {
  const auto losses = losses_of(survey.evidence.measurements);
  std::map<Path, std::vector<const Measurement*>> ended;
  for (const Measurement& measurement : survey.evidence.measurements)
    if (ended_by_loss(measurement, losses)) {
      const auto [first, second] = std::minmax(measurement.from.node, measurement.to.node);
      ended[{measurement.rail, first, second}].push_back(&measurement);
    }
  for (const auto& [path, engines] : losses) {
    Case each = judge.on_cluster(fmt::format("{} ↔ {} on {}", path.from, path.to, path.rail),
                                 {"rail:" + path.rail, "node:" + path.from, "node:" + path.to});
    const auto found = ended.find(path);
    judge_losses(each, survey, path, engines,
                 found == ended.end() ? std::span<const Measurement* const>() : found->second);
  }
}

}  // namespace

std::span<const Rule> measured_rules() {
  // Rules whose red finding keeps a path from working at all, the most likely first.
  static const std::vector<std::string_view> kPathBroken = {"node.reachable",
                                                            "rdma.software-module",
                                                            "rdma.adapter-modules",
                                                            "rdma.core-modules",
                                                            "net.interface",
                                                            "net.admin-up",
                                                            "net.carrier",
                                                            "rdma.rail-device",
                                                            "rdma.user-access",
                                                            "rdma.verbs-devices",
                                                            "rdma.subnet-manager",
                                                            "rdma.port-state",
                                                            "net.subnet",
                                                            "net.address",
                                                            "net.duplicate-address",
                                                            "rdma.gid",
                                                            "rdma.gid-interface",
                                                            "rdma.lid",
                                                            "net.mtu",
                                                            "net.mtu-equal",
                                                            "rdma.link-layer",
                                                            "net.one-subnet"};
  static const Rule kRules[] = {
      {.id = "measured.nothing",
       .title = "something was measured",
       .why = "Without a number nothing says that the nodes can use their rails.",
       .source = "cluster.yaml and the engines of railbed bench",
       .standard = "a rail between two nodes that answer",
       .remedy = "Name the rails in cluster.yaml, with two nodes or more on each.",
       .fixture = "measured-nothing",
       .explained_by = {"node.reachable"},
       .check = anything},
      {.id = "measured.failed",
       .title = "measurement ran",
       .why = "A path that cannot be measured cannot be used either.",
       .source = "the engines of railbed bench",
       .standard = "each measurement ends with a number",
       .remedy = "The finding names the stage and cause.",
       .fixture = "measured-failed",
       .explained_by = kPathBroken,
       .check = failed},
      {.id = "measured.data",
       .title = "data arrived as it was sent",
       .why = "Wrong bytes mean a broken adapter, memory or bus: training would diverge silently.",
       .source = "patterns compared on the timed transfers",
       .standard = "0 wrong bytes",
       .remedy = "Take the path out of service and swap its parts one at a time.",
       .fixture = "measured-data-wrong",
       .explained_by = {"host.memory-errors"},
       .check = data_intact},
      {.id = "measured.loss",
       .title = "path loses no packets",
       .why = "RoCE resends all that follows a lost packet: one in ten thousand halves the bandwidth.",
       .source = "retransmissions counted while measuring",
       .standard = "of RDMA at most 1 in 1,000,000 (warns), 1 in 10,000 (fails); of TCP 1 in 100 (warns)",
       .remedy = "Look at the counters of both ends, at the cable and at flow control.",
       .fixture = "measured-loss",
       .explained_by = {"net.mtu-equal", "net.receive-errors", "rdma.signal-quality", "rdma.packet-loss",
                        "net.carrier", "net.duplicate-address", "net.held-back"},
       .check = path_loss},
      {.id = "measured.bandwidth",
       .title = "RDMA bandwidth is near its ceiling",
       .why = "The ceiling is computed for this very path; what is missing is being lost somewhere on it.",
       .source = "railbed bench rdma; the binding limit stands beside the number",
       .standard = "90 % of what sound hardware reaches with these messages and queue pairs, or "
                   "expect.fraction_of_ceiling; virtual links are not judged",
       .remedy = "Look at PCIe, NUMA and counters, then measure each node against others.",
       .fixture = "measured-bandwidth-low",
       .explained_by = {"net.speed", "rdma.rate", "net.mtu", "rdma.active-mtu", "measured.loss",
                        "pcie.adapter-link", "pcie.slot-limits-adapter", "rdma.signal-quality",
                        "rdma.packet-loss", "pcie.read-request", "net.held-back"},
       .check = bandwidth},
      {.id = "measured.floor",
       .title = "latency is above its floor",
       .why =
           "No message is quicker than its bytes on the wire: a lower number was measured over another path "
           "than the described one, or with a wrong clock, and nothing else of that run can be trusted.",
       .source = "railbed bench tcp and rdma; the parts of the floor stand beside the number",
       .standard = "the median is not below the floor computed for the path; virtual links have none",
       .remedy = "Check cluster.yaml's topology, the ports' speed and the clock source.",
       .fixture = "measured-floor",
       .explained_by = {"net.speed", "rdma.rate"},
       .check = above_floor},
      {.id = "measured.rdma-beats-tcp",
       .title = "RDMA beats TCP",
       .why = "RDMA that is slower than TCP on the same wire is misconfigured: wrong port, tiny packets, "
              "or loss.",
       .source = "railbed bench tcp and rdma on the same rail",
       .standard = "bandwidth not lower, latency not higher; software RDMA is not judged",
       .remedy = "Check the RDMA MTU, losses and the port in use.",
       .fixture = "measured-rdma-slower",
       .explained_by = {"measured.bandwidth", "measured.loss", "rdma.active-mtu", "net.held-back"},
       .check = rdma_beats_tcp},
  };
  return kRules;
}

}  // namespace railbed

#include "bench/measure_rdma.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/both.h"
#include "bench/chained_stop.h"
#include "bench/pattern.h"
#include "bench/statistics.h"
#include "bench/typed.h"

namespace railbed {
namespace {

// Opening registers memory and preparing fills it: slow on slow machines.
constexpr std::chrono::milliseconds kSetUpDeadline{20000};
constexpr std::chrono::milliseconds kCloseDeadline{3000};
// Twice what 400 Gb/s keeps under way at 100 µs; little enough that slow links drain in a moment.
constexpr std::uint64_t kHalf = 8 << 20;
constexpr int kDepth = 128;
constexpr std::size_t kSlotsAtLeast = 4;
// What a dead path takes to be noticed by the slowest adapter, and a margin.
constexpr std::chrono::milliseconds kRunMargin{15000};

std::chrono::milliseconds run_deadline(const RdmaRun& run) {
  return std::chrono::milliseconds(static_cast<std::int64_t>((run.warmup + run.seconds) * 1000)) + kRunMargin;
}

std::uint64_t half_bytes(const BenchPlan& plan, int queue_pairs) {
  std::uint64_t largest = plan.latency_bytes;
  for (const std::uint64_t size : plan.sizes.empty() ? default_sizes(Engine::kRdma) : plan.sizes)
    largest = std::max(largest, size);
  return std::max(kHalf, (largest + 64) * kSlotsAtLeast * static_cast<std::uint64_t>(queue_pairs));
}

// The same question to both ends at once.
template <class Answer, class Request>
std::pair<Result<Answer>, Result<Answer>> ask_ends(const PairEnd& a, const PairEnd& b,
                                                   std::string_view method, const Request& to_a,
                                                   const Request& to_b, const std::stop_token& stop) {
  return ask_both<Answer, Answer>(
      [&](std::stop_token inner) { return ask<Answer>(*a.peer, method, to_a, kSetUpDeadline, inner); },
      [&](std::stop_token inner) { return ask<Answer>(*b.peer, method, to_b, kSetUpDeadline, inner); }, stop);
}

// During set-up the two ends do not speak to each other yet: each speaks of itself, and is named.
template <class Answer>
std::optional<Failure> own_failure(const std::string& node, const Result<Answer>& answer) {
  if (!answer) return Failure{"connect", fmt::format("the agent on {}: {}", node, answer.error().text), ""};
  if (!answer->failure) return std::nullopt;
  Failure failure = *answer->failure;
  failure.cause = node + ": " + failure.cause;
  return failure;
}
template <class Answer>
std::optional<Failure> set_up_failure(const PairEnd& a, const PairEnd& b,
                                      const std::pair<Result<Answer>, Result<Answer>>& answers) {
  // An end that was stopped because the other went wrong has nothing to say.
  const bool a_cancelled = !answers.first && answers.first.error().kind == ErrorKind::kCancelled;
  auto of_a = own_failure(a.peer->node(), answers.first);
  auto of_b = own_failure(b.peer->node(), answers.second);
  return (of_a && !(a_cancelled && of_b)) ? of_a : of_b;
}

}  // namespace

RdmaPair::RdmaPair(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, std::stop_token stop) {
  a_.end = &a;
  b_.end = &b;
  failure_ = open(plan, stop);
  if (!failure_) failure_ = choose();
  if (!failure_) failure_ = connect(plan, stop);
}

RdmaPair::~RdmaPair() {
  for (const Side* side : {&a_, &b_})
    if (!side->opened.session.empty())
      (void)ask<RdmaDone>(*side->end->peer, kRdmaClose, RdmaSessionName{side->opened.session}, kCloseDeadline,
                          {});
}

std::optional<Failure> RdmaPair::open(const BenchPlan& plan, const std::stop_token& stop) {
  const int queue_pairs = plan.streams > 0 ? plan.streams : default_streams(Engine::kRdma);
  const auto request = [&](const Side& side) {
    return RdmaOpen{side.end->interface, half_bytes(plan, queue_pairs), queue_pairs, kDepth};
  };
  const auto answers = ask_ends<RdmaOpened>(*a_.end, *b_.end, kRdmaOpen, request(a_), request(b_), stop);
  if (answers.first) a_.opened = *answers.first;
  if (answers.second) b_.opened = *answers.second;
  return set_up_failure(*a_.end, *b_.end, answers);
}

std::optional<Failure> RdmaPair::choose() {
  const RdmaOpened& a = a_.opened;
  const RdmaOpened& b = b_.opened;
  mtu_ = std::min(a.active_mtu, b.active_mtu);
  if (mtu_ == 0) mtu_ = 1024;  // libibverbs would not say; every port can do this
  infiniband_ = a.link_layer == "InfiniBand";
  if (a.link_layer != b.link_layer)
    return Failure{"connect",
                   fmt::format("{} is {} on {} and {} on {}", "the link layer", a.link_layer,
                               a_.end->peer->node(), b.link_layer, b_.end->peer->node()),
                   "set both ports to one link type (mlxconfig LINK_TYPE_P1)"};
  if (infiniband_) {
    wire_ = Wire::kInfiniband;
    if (a.end.lid != 0 && b.end.lid != 0) return std::nullopt;
    return Failure{"connect", fmt::format("{} has no LID", (a.end.lid == 0 ? a_ : b_).end->peer->node()),
                   "start a subnet manager: opensm on one node, or the switch's"};
  }
  const auto pair = choose_gids({a_.end->peer->node(), a_.end->interface, a.gids},
                                {b_.end->peer->node(), b_.end->interface, b.gids});
  if (!pair) return Failure{"connect", pair.error().text, "`rdma link` and `ip address` show what each has"};
  a_.gid = pair->a;
  b_.gid = pair->b;
  doubt_ = pair->doubt;
  wire_ = pair->a.type != "RoCE v2" ? Wire::kRoceV1
          : pair->a.gid.is_v4()     ? Wire::kRoceV2Ipv4
                                    : Wire::kRoceV2Ipv6;
  return std::nullopt;
}

std::optional<Failure> RdmaPair::connect(const BenchPlan& plan, const std::stop_token& stop) {
  const auto request = [&](const Side& side, const Side& other) {
    RdmaConnect request{side.opened.session, other.end->peer->node(), other.opened.end, mtu_, -1, {}, 0};
    if (infiniband_) return request;
    request.gid_index = side.gid.index;
    request.gid = other.gid.gid;
    request.traffic_class = plan.traffic_class;
    return request;
  };
  return set_up_failure(
      *a_.end, *b_.end,
      ask_ends<RdmaDone>(*a_.end, *b_.end, kRdmaConnect, request(a_, b_), request(b_, a_), stop));
}

RdmaRun RdmaPair::run_of(const BenchPlan& plan, std::uint64_t message_bytes) const {
  return {"", message_bytes, plan.warmup, plan.seconds, random_seed()};
}

std::optional<Failure> RdmaPair::prepare(const RdmaRun& run, const std::stop_token& stop) {
  RdmaRun to_a = run;
  RdmaRun to_b = run;
  to_a.session = a_.opened.session;
  to_b.session = b_.opened.session;
  return set_up_failure(*a_.end, *b_.end,
                        ask_ends<RdmaDone>(*a_.end, *b_.end, kRdmaPrepare, to_a, to_b, stop));
}

void RdmaPair::describe(const Side& from, const Side& to, Measurement& measurement) const {
  for (const auto& [side, endpoint] :
       {std::pair{&from, &measurement.from}, std::pair{&to, &measurement.to}}) {
    if (!side->opened.device.empty())
      endpoint->device = fmt::format("{}/{}", side->opened.device, side->opened.port);
    if (infiniband_ || side->gid.gid.is_zero()) continue;
    endpoint->gid_index = side->gid.index;
    endpoint->address = side->gid.gid.to_text();
  }
  measurement.mtu = mtu_;
}

std::optional<RdmaCounters> RdmaPair::count(const Side& side, const std::stop_token& stop) const {
  auto counters = ask<RdmaCounters>(*side.end->peer, kRdmaCounters, RdmaSessionName{side.opened.session},
                                    kSetUpDeadline, stop);
  if (!counters) return std::nullopt;
  return *counters;
}

void RdmaPair::add_counters(const Side& side, bool sender, const std::optional<RdmaCounters>& before,
                            Measurement& measurement, const std::stop_token& stop) const {
  if (!before) return;
  const auto after = count(side, stop);
  if (!after) return;
  if (sender) measurement.packets = after->packets - before->packets;
  measurement.lost += after->lost - before->lost;
  for (const auto& [name, value] : after->troubles) {
    const auto old = before->troubles.find(name);
    const auto moved = static_cast<std::int64_t>(value) -
                       static_cast<std::int64_t>(old == before->troubles.end() ? 0 : old->second);
    if (moved == 0) continue;
    measurement.counter_deltas[fmt::format("{} {}/{} {}", side.end->peer->node(), side.opened.device,
                                           side.opened.port, name)] = moved;
  }
}

// The writing end works, the other only watches its adapter: it has no part in a write.
bool RdmaPair::run_write(const Side& from, const Side& to, const RdmaRun& run, Measurement& measurement,
                         const std::stop_token& stop) {
  ChainedStop written_stop(stop);  // ends the watch when the writing has
  RdmaRun request = run;
  request.session = from.opened.session;
  const auto [written, watched] = ask_both<RdmaWritten, RdmaDone>(
      [&](std::stop_token inner) {
        auto answer =
            ask<RdmaWritten>(*from.end->peer, kRdmaWrite, request, run_deadline(run), std::move(inner));
        written_stop.request();
        return answer;
      },
      [&](const std::stop_token&) -> Result<RdmaDone> {
        auto answer = ask<RdmaDone>(*to.end->peer, kRdmaWatch, RdmaSessionName{to.opened.session},
                                    run_deadline(run), written_stop.token());
        if (!answer && answer.error().kind == ErrorKind::kCancelled) return RdmaDone{};
        return answer;
      },
      stop);
  const std::string& from_node = from.end->peer->node();
  measurement.failure = cause_of(from_node, written, to.end->peer->node(), watched);
  // What the other adapter tells of is why the writes failed.
  if (watched && watched->failure) {
    measurement.failure = watched->failure;
    measurement.failure->cause = fmt::format("{}: {}", to.end->peer->node(), watched->failure->cause);
    if (written && written->failure)
      measurement.failure->cause += fmt::format("; {}: {}", from_node, written->failure->cause);
  }
  if (!written) return false;
  measurement.intervals = written->intervals;
  measurement.summary = summarize(written->intervals);
  measurement.seconds = written->seconds;
  if (written->bytes > 0)
    measurement.cpu_seconds_per_gigabyte = written->cpu_seconds / (static_cast<double>(written->bytes) / 1e9);
  if (measurement.failure) return false;
  RdmaCheck question{to.opened.session, run, written->messages};
  question.run.session = to.opened.session;
  const auto checked = ask<RdmaChecked>(*to.end->peer, kRdmaCheck, question, kSetUpDeadline, stop);
  if (!checked) {
    measurement.failure =
        Failure{"verify", fmt::format("{}: {}", to.end->peer->node(), checked.error().text), ""};
    return false;
  }
  measurement.checked_bytes = checked->checked_bytes;
  measurement.wrong_bytes = checked->wrong_bytes;
  if (checked->wrong_bytes > 0)
    measurement.failure = Failure{
        "verify",
        fmt::format("data arrived changed: {} of {} bytes differ from what {} wrote", checked->wrong_bytes,
                    checked->checked_bytes, from_node),
        "suspect memory, the adapters or an IOMMU setting; measure again with the other pair of ports"};
  return true;
}

void RdmaPair::measure_bandwidth(bool from_a, const BenchPlan& plan, Measurement& measurement,
                                 std::stop_token stop) {
  const Side& from = from_a ? a_ : b_;
  const Side& to = from_a ? b_ : a_;
  describe(from, to, measurement);
  measurement.failure = failure_;
  if (measurement.failure) return;
  const RdmaRun run = run_of(plan, measurement.message_bytes);
  measurement.failure = prepare(run, stop);
  if (measurement.failure) return;
  const auto before_from = count(from, stop);
  const auto before_to = count(to, stop);
  run_write(from, to, run, measurement, stop);
  add_counters(from, true, before_from, measurement, stop);
  add_counters(to, false, before_to, measurement, stop);
  if (measurement.failure && measurement.failure->remedy.empty()) measurement.failure->remedy = doubt_;
  failure_ = measurement.failure;
}

void RdmaPair::measure_latency(bool from_a, const BenchPlan& plan, Measurement& measurement,
                               std::stop_token stop) {
  const Side& from = from_a ? a_ : b_;
  const Side& to = from_a ? b_ : a_;
  describe(from, to, measurement);
  measurement.failure = failure_;
  if (measurement.failure) return;
  RdmaRun run = run_of(plan, measurement.message_bytes);
  measurement.failure = prepare(run, stop);
  if (measurement.failure) return;
  RdmaRun ping = run;
  RdmaRun echo = run;
  ping.session = from.opened.session;
  echo.session = to.opened.session;
  const auto [pinged, echoed] = ask_both<RdmaPinged, RdmaDone>(
      [&](std::stop_token inner) {
        return ask<RdmaPinged>(*from.end->peer, kRdmaPing, ping, run_deadline(run), std::move(inner));
      },
      [&](std::stop_token inner) {
        return ask<RdmaDone>(*to.end->peer, kRdmaEcho, echo, run_deadline(run), std::move(inner));
      },
      stop);
  measurement.failure = cause_of(from.end->peer->node(), pinged, to.end->peer->node(), echoed);
  failure_ = measurement.failure;
  if (!pinged) return;
  measurement.summary = pinged->summary;
  measurement.seconds = pinged->seconds;
  measurement.checked_bytes = pinged->checked_bytes;
  measurement.wrong_bytes = pinged->wrong_bytes;
}

}  // namespace railbed

#include "bench/verbs/measure_rdma.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/random.h"
#include "base/wording.h"
#include "bench/core/ask_all.h"
#include "bench/core/chained_stop.h"
#include "bench/core/typed.h"
#include "bench/statistics/statistics.h"
#include "bench/verbs/gpu_choice.h"
#include "facts/facts.h"

namespace railbed {
namespace {

// Opening registers memory and preparing fills it, which takes long on slow machines.
constexpr std::chrono::milliseconds kSetUpDeadline{20000};
// For a process for CUDA and a GPU that may have slept. Longer than the agent waits for that process.
constexpr std::chrono::milliseconds kGpuDeadline{90000};
constexpr std::chrono::milliseconds kCloseDeadline{3000};
// More than 400 Gb/s keeps in flight at 100 µs (5 MB), but little enough that slow links drain soon.
constexpr std::uint64_t kHalf = 8 << 20;
constexpr std::uint64_t kHalfOfPings = 64 << 10;  // one message is in flight at a time
constexpr int kDepth = 128;
constexpr std::uint64_t kFirstPings = 10'000;  // most that may pass before a warm-up of no time ends
constexpr std::size_t kSlotsAtLeast = 4;
constexpr int kManySlots = 1 << 20;  // no limit but the size of the working set
// The time in which the slowest adapter notices a dead path, and a margin.
constexpr std::chrono::milliseconds kRunMargin{15000};

std::chrono::milliseconds run_deadline(const RdmaRun& run) {
  return std::chrono::milliseconds(static_cast<std::int64_t>((run.warmup + run.seconds) * 1000)) + kRunMargin;
}

std::uint64_t half_bytes(const BenchPlan& plan, int queue_pairs) {
  std::uint64_t largest = 0;
  for (const auto& sizes : {plan.latency_sizes, plan.sizes})
    for (const std::uint64_t size : sizes) largest = std::max(largest, size);
  if (plan.sizes.empty() && plan.bandwidth)
    largest = std::max(largest, *std::ranges::max_element(kUsualRdmaSizes));
  const std::uint64_t needed = (largest + 64) * kSlotsAtLeast * static_cast<std::uint64_t>(queue_pairs);
  return std::max({plan.working_set, plan.bandwidth ? kHalf : kHalfOfPings, needed});
}

// Sends the same kind of request to both ends at the same time.
template <class Answer, class Request>
Answers<Answer> ask_ends(const PairEnd& a, const PairEnd& b, std::string_view method, const Request& to_a,
                         const Request& to_b, const std::stop_token& stop,
                         std::chrono::milliseconds deadline = kSetUpDeadline) {
  return ask_all<Answer>({a.peer, b.peer}, method, std::vector{to_a, to_b}, deadline, stop);
}

// Returns the failure of an end during the setup, with its node's name. The two ends do not communicate yet,
// so each can only report its own failure.
template <class Answer>
std::optional<Failure> own_failure(const std::string& node, const Result<Answer>& answer) {
  if (!answer)
    return Failure{"connect", fmt::format("the agent on {}: {}", node, without_node(answer.error())), ""};
  if (!answer->failure) return std::nullopt;
  Failure failure = *answer->failure;
  failure.cause = node + ": " + failure.cause;
  return failure;
}
template <class Answer>
std::optional<Failure> set_up_failure(const PairEnd& a, const PairEnd& b, const Answers<Answer>& answers) {
  // An end that was stopped because the other failed does not have the cause.
  const bool a_cancelled = !answers.ends[0] && answers.ends[0].error().kind == ErrorKind::kCancelled;
  auto of_a = own_failure(a.peer->node(), answers.ends[0]);
  auto of_b = own_failure(b.peer->node(), answers.ends[1]);
  return (of_a && !(a_cancelled && of_b)) ? of_a : of_b;
}

// Copies the numbers of the side that saw the messages complete.
void take_numbers(const RdmaTransferred& seen, Measurement& measurement) {
  measurement.intervals = seen.intervals;
  measurement.summary = summarize(seen.intervals);
  measurement.seconds = seen.seconds;
  measurement.checked_bytes = seen.checked_bytes;
  measurement.wrong_bytes = seen.wrong_bytes;
}

double per_gigabyte(double cpu_seconds, std::uint64_t bytes) {
  return bytes > 0 ? cpu_seconds / (static_cast<double>(bytes) / 1e9) : 0;
}

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Adds the other direction of a duplex measurement. Rates are added interval by interval.
void add_direction(const Measurement& other, Measurement& sum) {
  sum.intervals.resize(std::min(sum.intervals.size(), other.intervals.size()));
  for (std::size_t i = 0; i < sum.intervals.size(); ++i) sum.intervals[i] += other.intervals[i];
  sum.summary = summarize(sum.intervals);
  sum.seconds = std::max(sum.seconds, other.seconds);
  sum.lost += other.lost;
  sum.checked_bytes += other.checked_bytes;
  sum.wrong_bytes += other.wrong_bytes;
  sum.cpu_seconds_per_gigabyte = (sum.cpu_seconds_per_gigabyte + other.cpu_seconds_per_gigabyte) / 2;
  if (!sum.failure) sum.failure = other.failure;
}

Failure changed(const std::string& from_node, const Measurement& measurement) {
  return {"verify",
          fmt::format("data arrived changed: {} of {} bytes differ from what {} sent",
                      measurement.wrong_bytes, measurement.checked_bytes, from_node),
          "suspect memory, the adapters or an IOMMU setting; measure again with the other pair of ports"};
}

}  // namespace

RdmaPair::RdmaPair(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, bool datagrams,
                   std::stop_token stop) {
  a_.end = &a;
  b_.end = &b;
  failure_ = open(plan, datagrams, stop);
  if (!failure_) failure_ = choose();
  if (!failure_) failure_ = connect(plan, stop);
}

RdmaPair::~RdmaPair() {
  for (const Side* side : {&a_, &b_})
    if (!side->opened.session.empty())
      (void)ask<RdmaDone>(*side->end->peer, kRdmaClose, RdmaSessionName{side->opened.session}, kCloseDeadline,
                          {});
}

std::optional<Failure> RdmaPair::open(const BenchPlan& plan, bool datagrams, const std::stop_token& stop) {
  const int queue_pairs = plan.streams > 0 ? plan.streams : kUsualQueuePairs;
  for (Side* side : {&a_, &b_}) {
    if (plan.memory == "host") continue;
    const Facts none;
    auto gpu =
        choose_gpu(side->end->facts != nullptr ? *side->end->facts : none, side->end->interface, plan.memory);
    if (!gpu)
      return Failure{"connect", at_node(side->end->peer->node(), gpu.error()).text,
                     "`railbed verify` says what is missing; --memory gpu:ADDRESS takes a GPU's PCI address"};
    side->gpu = std::move(*gpu);
  }
  const auto request = [&](const Side& side) {
    return RdmaOpen{side.end->interface,
                    half_bytes(plan, queue_pairs),
                    queue_pairs,
                    kDepth,
                    plan.working_set > 0 ? kManySlots : kDepth,
                    datagrams,
                    std::min(plan.threads, queue_pairs),
                    side.gpu,
                    false};
  };
  const auto answers = ask_ends<RdmaOpened>(*a_.end, *b_.end, kRdmaOpen, request(a_), request(b_), stop,
                                            plan.memory == "host" ? kSetUpDeadline : kGpuDeadline);
  if (answers.ends[0]) a_.opened = *answers.ends[0];
  if (answers.ends[1]) b_.opened = *answers.ends[1];
  return set_up_failure(*a_.end, *b_.end, answers);
}

std::optional<Failure> RdmaPair::choose() {
  const RdmaOpened& a = a_.opened;
  const RdmaOpened& b = b_.opened;
  mtu_ = std::min(a.active_mtu, b.active_mtu);
  if (mtu_ == 0) mtu_ = 1024;  // unknown; every port supports this one
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
  const auto gids = choose_gids({a_.end->peer->node(), a_.end->interface, a.gids},
                                {b_.end->peer->node(), b_.end->interface, b.gids});
  if (!gids) return Failure{"connect", gids.error().text, "`rdma link` and `ip address` show what each has"};
  a_.gid = gids->a;
  b_.gid = gids->b;
  doubt_ = gids->doubt;
  wire_ = gids->a.type != "RoCE v2" ? Wire::kRoceV1
          : gids->a.gid.is_v4()     ? Wire::kRoceV2Ipv4
                                    : Wire::kRoceV2Ipv6;
  return std::nullopt;
}

std::optional<Failure> RdmaPair::connect(const BenchPlan& plan, const std::stop_token& stop) {
  const auto request = [&](const Side& side, const Side& other) {
    RdmaConnect request{side.opened.session, other.end->peer->node(), other.opened.end, mtu_, -1, {}, {}, {}};
    if (infiniband_) return request;
    request.gid_index = side.gid.index;
    request.gid = other.gid.gid;
    request.traffic_classes = plan.traffic_classes;
    request.flow_labels = plan.flow_labels;
    return request;
  };
  return set_up_failure(
      *a_.end, *b_.end,
      ask_ends<RdmaDone>(*a_.end, *b_.end, kRdmaConnect, request(a_, b_), request(b_, a_), stop));
}

RdmaRun RdmaPair::run_of(const BenchPlan& plan, RdmaOperation operation, std::uint64_t message_bytes) {
  return {"", operation, message_bytes, plan.warmup, plan.seconds, random_seed()};
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
    if (!side->gpu.empty()) {
      endpoint->memory = fmt::format("GPU {}, {}", side->gpu, to_text(side->opened.route));
      endpoint->memory_why = fmt::format("{}", fmt::join(side->opened.refusals, "; "));
    }
    if (infiniband_ || side->gid.gid.is_zero()) continue;
    endpoint->gid_index = side->gid.index;
    endpoint->address = side->gid.gid.to_text();
  }
  measurement.mtu = mtu_;
}

RdmaPair::Counted RdmaPair::count(const Side& from, const Side& to, const std::stop_token& stop) const {
  auto counters =
      ask_ends<RdmaCounters>(*from.end, *to.end, kRdmaCounters, RdmaSessionName{from.opened.session},
                             RdmaSessionName{to.opened.session}, stop);
  Counted counted;
  if (counters.ends[0]) counted.from = std::move(*counters.ends[0]);
  if (counters.ends[1]) counted.to = std::move(*counters.ends[1]);
  return counted;
}

void RdmaPair::add_troubles(const Side& side, const RdmaCounters& before, const RdmaCounters& after,
                            Measurement& measurement) {
  measurement.lost += after.lost - before.lost;
  for (const auto& [name, value] : after.troubles) {
    const auto old = before.troubles.find(name);
    const auto moved = static_cast<std::int64_t>(value) -
                       static_cast<std::int64_t>(old == before.troubles.end() ? 0 : old->second);
    if (moved == 0) continue;
    measurement.counter_deltas[fmt::format("{} {}/{} {}", side.end->peer->node(), side.opened.device,
                                           side.opened.port, name)] = moved;
  }
}

void RdmaPair::add_counters(const Side& from, const Side& to, const Counted& before, Measurement& measurement,
                            const std::stop_token& stop) const {
  const Counted after = count(from, to, stop);
  if (before.from && after.from) {
    measurement.packets = after.from->packets - before.from->packets;
    add_troubles(from, *before.from, *after.from, measurement);
  }
  if (before.to && after.to) add_troubles(to, *before.to, *after.to, measurement);
  if (measurement.failure) measurement.failure->packets = packets_between(from, to, before, after);
}

std::vector<PacketWay> RdmaPair::packets_between(const Side& from, const Side& to, const Counted& before,
                                                 const Counted& after) {
  if (!before.from || !before.to || !after.from || !after.to) return {};
  return {{from.end->peer->node(), after.from->packets - before.from->packets,
           after.to->received - before.to->received},
          {to.end->peer->node(), after.to->packets - before.to->packets,
           after.from->received - before.from->received}};
}

Result<RdmaDone> RdmaPair::finish(const Side& side, std::vector<std::uint64_t> messages) const {
  return ask<RdmaDone>(*side.end->peer, kRdmaFinish, RdmaFinish{side.opened.session, std::move(messages)},
                       kCloseDeadline, {});
}

// Runs writes or reads. One end does all the work; the other only watches its adapter.
std::pair<Result<RdmaTransferred>, Result<RdmaDone>> RdmaPair::move_alone(const Side& active,
                                                                          const Side& passive,
                                                                          const RdmaRun& run,
                                                                          const std::stop_token& stop) const {
  ChainedStop over(stop);  // ends the watch when the work is done
  RdmaRun request = run;
  request.session = active.opened.session;
  return ask_both<RdmaTransferred, RdmaDone>(
      [&](std::stop_token inner) {
        auto answer = ask<RdmaTransferred>(*active.end->peer, kRdmaTransfer, request, run_deadline(run),
                                           std::move(inner));
        over.request();
        return answer;
      },
      [&](const std::stop_token&) -> Result<RdmaDone> {
        auto answer = ask<RdmaDone>(*passive.end->peer, kRdmaWatch, RdmaSessionName{passive.opened.session},
                                    run_deadline(run), over.token());
        if (!answer && answer.error().kind == ErrorKind::kCancelled) return RdmaDone{};
        return answer;
      },
      stop);
}

std::pair<Result<RdmaTransferred>, Result<RdmaTransferred>> RdmaPair::move_to_receiver(
    const Side& from, const Side& to, const RdmaRun& run, const std::stop_token& stop) const {
  RdmaRun to_sender = run;
  RdmaRun to_receiver = run;
  to_sender.session = from.opened.session;
  to_receiver.session = to.opened.session;
  return ask_both<RdmaTransferred, RdmaTransferred>(
      [&](std::stop_token inner) {
        auto answer = ask<RdmaTransferred>(*from.end->peer, kRdmaTransfer, to_sender, run_deadline(run),
                                           std::move(inner));
        const bool well = answer && !answer->failure;
        (void)finish(to, well ? answer->messages : std::vector<std::uint64_t>());
        return answer;
      },
      [&](std::stop_token inner) {
        return ask<RdmaTransferred>(*to.end->peer, kRdmaReceive, to_receiver, run_deadline(run),
                                    std::move(inner));
      },
      stop);
}

// Moves bytes from `from` to `to` and fills in the measurement. `from` does writes and sends, `to` does
// reads.
std::uint64_t RdmaPair::move(const Side& from, const Side& to, const RdmaRun& run, Measurement& measurement,
                             const std::stop_token& stop) const {
  const std::string& from_node = from.end->peer->node();
  const std::string& to_node = to.end->peer->node();
  if (has_receiver(run.operation)) {
    const auto [sent, received] = move_to_receiver(from, to, run, stop);
    measurement.failure = cause_of(from_node, sent, to_node, received);
    if (!received) return 0;
    take_numbers(*received, measurement);
    if (!sent) return 0;
    measurement.cpu_seconds_per_gigabyte =
        per_gigabyte(sent->cpu_seconds, sent->bytes) + per_gigabyte(received->cpu_seconds, received->bytes);
    if (!measurement.failure && run.operation == RdmaOperation::kDatagram) {
      measurement.lost += sum(sent->messages) - std::min(sum(sent->messages), sum(received->messages));
      if (measurement.wrong_bytes > 0) measurement.failure = changed(from_node, measurement);
      if (measurement.intervals.empty())
        measurement.failure = Failure{"run", fmt::format("no datagram of {} reached {}", from_node, to_node),
                                      "measure with --operations send, which says why"};
    } else if (!measurement.failure) {
      check(from, to, run, received->messages, measurement, stop);
    }
    return sum(sent->messages);
  }
  const bool reads = run.operation == RdmaOperation::kRead;
  const Side& active = reads ? to : from;
  const Side& passive = reads ? from : to;
  const auto [moved, watched] = move_alone(active, passive, run, stop);
  measurement.failure = cause_of(active.end->peer->node(), moved, passive.end->peer->node(), watched);
  // An error of the passive end's adapter is the cause of the active end's failure.
  if (watched && watched->failure) {
    measurement.failure = watched->failure;
    measurement.failure->cause = fmt::format("{}: {}", passive.end->peer->node(), watched->failure->cause);
    if (moved && moved->failure)
      measurement.failure->cause += fmt::format("; {}: {}", active.end->peer->node(), moved->failure->cause);
  }
  if (!moved) return 0;
  take_numbers(*moved, measurement);
  measurement.cpu_seconds_per_gigabyte = per_gigabyte(moved->cpu_seconds, moved->bytes);
  if (!measurement.failure) check(from, to, run, moved->messages, measurement, stop);
  return sum(moved->messages);
}

void RdmaPair::check(const Side& from, const Side& to, const RdmaRun& run,
                     const std::vector<std::uint64_t>& messages, Measurement& measurement,
                     const std::stop_token& stop) const {
  RdmaCheck question{to.opened.session, run, messages};
  question.run.session = to.opened.session;
  const auto checked = ask<RdmaChecked>(*to.end->peer, kRdmaCheck, question, kSetUpDeadline, stop);
  if (!checked) {
    measurement.failure = Failure{"verify", at_node(to.end->peer->node(), checked.error()).text, ""};
    return;
  }
  measurement.checked_bytes = checked->checked_bytes;
  measurement.wrong_bytes = checked->wrong_bytes;
  if (checked->wrong_bytes > 0) measurement.failure = changed(from.end->peer->node(), measurement);
}

// A packet is acknowledged by at most one other. A lost one may make the sender repeat all that is under way.
OwnTraffic RdmaPair::traffic_of_messages(std::uint64_t ahead, std::uint64_t back,
                                         const Measurement& measurement) const {
  const auto mtu = static_cast<std::uint64_t>(std::max(mtu_, 256));
  const std::uint64_t packets = (measurement.message_bytes + mtu - 1) / mtu;
  const auto one_way = [&](std::uint64_t messages, std::uint64_t acknowledged) {
    return most_on_wire(messages * measurement.message_bytes, (messages + acknowledged) * packets) +
           measurement.lost * kHalf;
  };
  return {one_way(ahead, back), one_way(back, ahead), true};
}

std::optional<Failure> RdmaPair::staged_failure(RdmaOperation operation) const {
  if (operation == RdmaOperation::kSend) return std::nullopt;
  for (const Side* side : {&a_, &b_})
    if (side->opened.route == MemoryRoute::kStaged)
      return Failure{"connect",
                     fmt::format("{}: no adapter reaches the memory of GPU {} ({}), "
                                 "and nobody there would hear of a {} that is to be copied on",
                                 side->end->peer->node(), side->gpu, fmt::join(side->opened.refusals, "; "),
                                 enum_names(operation)[static_cast<std::size_t>(operation)]),
                     "--operations send measures the way through host memory"};
  return std::nullopt;
}

void RdmaPair::measure_bandwidth(RdmaOperation operation, bool from_a, const BenchPlan& plan,
                                 Measurement& measurement, std::stop_token stop) {
  const Side& from = from_a ? a_ : b_;
  const Side& to = from_a ? b_ : a_;
  own_.reset();
  describe(from, to, measurement);
  measurement.failure = failure_;
  if (measurement.failure) return;
  measurement.failure = failure_ = staged_failure(operation);
  if (measurement.failure) return;
  const RdmaRun run = run_of(plan, operation, measurement.message_bytes);
  measurement.failure = failure_ = prepare(run, stop);
  unprepared_ = failure_.has_value();
  if (unprepared_) return;
  const Counted before = count(from, to, stop);
  std::uint64_t messages = 0;
  std::uint64_t messages_back = 0;
  if (plan.duplex) {
    Measurement back;
    {
      const std::jthread other([&] { messages_back = move(to, from, run, back, stop); });
      messages = move(from, to, run, measurement, stop);
    }
    add_direction(back, measurement);
  } else {
    messages = move(from, to, run, measurement, stop);
  }
  add_counters(from, to, before, measurement, stop);
  own_ = traffic_of_messages(messages, messages_back, measurement);
  if (measurement.failure && measurement.failure->remedy.empty()) measurement.failure->remedy = doubt_;
  failure_ = measurement.failure;
}

void RdmaPair::measure_latency(RdmaOperation operation, bool from_a, const BenchPlan& plan,
                               Measurement& measurement, std::stop_token stop) {
  const Side& from = from_a ? a_ : b_;
  const Side& to = from_a ? b_ : a_;
  own_.reset();
  describe(from, to, measurement);
  measurement.failure = failure_;
  if (measurement.failure) return;
  const RdmaRun run = run_of(plan, operation, measurement.message_bytes);
  measurement.failure = failure_ = prepare(run, stop);
  unprepared_ = failure_.has_value();
  if (unprepared_) return;
  const Counted before = count(from, to, stop);
  RdmaRun ping = run;
  RdmaRun echo = run;
  ping.session = from.opened.session;
  echo.session = to.opened.session;
  const auto [pinged, echoed] = ask_both<RdmaPinged, RdmaDone>(
      [&](std::stop_token inner) {
        auto answer = ask<RdmaPinged>(*from.end->peer, kRdmaPing, ping, run_deadline(run), std::move(inner));
        (void)finish(to, {});
        return answer;
      },
      [&](std::stop_token inner) -> Result<RdmaDone> {
        if (operation == RdmaOperation::kRead) return RdmaDone{};
        return ask<RdmaDone>(*to.end->peer, kRdmaEcho, echo, run_deadline(run), std::move(inner));
      },
      stop);
  measurement.failure = cause_of(from.end->peer->node(), pinged, to.end->peer->node(), echoed);
  if (measurement.failure)
    measurement.failure->packets = packets_between(from, to, before, count(from, to, stop));
  failure_ = measurement.failure;
  if (!pinged) return;
  // The pings of the warm-up are not counted; they are no faster.
  const double pings = static_cast<double>(pinged->summary.samples + pinged->lost) *
                       (1 + plan.warmup / std::max(pinged->seconds, 0.001));
  const auto most = static_cast<std::uint64_t>(std::clamp(pings, 0.0, 1e12)) + kFirstPings;
  own_ = traffic_of_messages(most, most, measurement);
  measurement.summary = pinged->summary;
  measurement.seconds = pinged->seconds;
  measurement.lost = pinged->lost;
  measurement.checked_bytes = pinged->checked_bytes;
  measurement.wrong_bytes = pinged->wrong_bytes;
}

}  // namespace railbed

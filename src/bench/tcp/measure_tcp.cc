#include "bench/tcp/measure_tcp.h"

#include "base/random.h"
#include "bench/core/ask_all.h"
#include "bench/core/typed.h"
#include "bench/statistics/statistics.h"
#include "bench/tcp/protocol.h"

namespace railbed {
namespace {

constexpr std::chrono::milliseconds kTcpSetUpDeadline{5000};

// The deadline for a run: it passes only if the bounded waits of the engines failed to end the run.
std::chrono::milliseconds run_deadline(const TcpPlan& plan) {
  return std::chrono::milliseconds(static_cast<std::int64_t>((plan.warmup + plan.seconds) * 1000)) +
         kConnectDeadline + 3 * kReceiverPatience;
}

// The requests to the two ends, after the listener was opened.
struct TcpRequests {
  TcpServe serve;
  TcpCall call;
};

Result<TcpRequests> arrange(const PairEnd& from, const PairEnd& to, const TcpPlan& plan,
                            std::stop_token stop) {
  auto door =
      ask<TcpListening>(*to.peer, kTcpListen, TcpListen{*to.address}, kTcpSetUpDeadline, std::move(stop));
  if (!door) return fail(door.error(), to.peer->node());
  return TcpRequests{{door->session, from.peer->node(), plan},
                     {{*from.address, *to.address, door->port, door->token, to.peer->node()}, plan}};
}

TcpPlan tcp_plan(const BenchPlan& plan, std::uint64_t message_bytes, int streams) {
  return {streams, message_bytes, plan.warmup, plan.seconds, random_seed(), plan.busy_poll, plan.zero_copy};
}

template <class Listening, class Connecting>
std::pair<Result<Connecting>, Result<Listening>> ask_both_ends(const PairEnd& from, const PairEnd& to,
                                                               const TcpRequests& requests,
                                                               std::string_view call_method,
                                                               std::string_view serve_method,
                                                               const std::stop_token& stop) {
  const auto deadline = run_deadline(requests.call.plan);
  return ask_both<Connecting, Listening>(
      [&](std::stop_token inner) {
        return ask<Connecting>(*from.peer, call_method, requests.call, deadline, std::move(inner));
      },
      [&](std::stop_token inner) {
        return ask<Listening>(*to.peer, serve_method, requests.serve, deadline, std::move(inner));
      },
      stop);
}

OwnTraffic tcp_traffic(const TcpTotals& totals) {
  return {most_on_wire(totals.sent_bytes, totals.sent_segments),
          most_on_wire(totals.received_bytes, totals.received_segments), false};
}

}  // namespace

std::optional<OwnTraffic> measure_tcp_bandwidth(const PairEnd& from, const PairEnd& to, const BenchPlan& plan,
                                                Measurement& measurement, std::stop_token stop) {
  const auto requests =
      arrange(from, to, tcp_plan(plan, measurement.message_bytes, measurement.streams), stop);
  if (!requests) {
    measurement.failure = Failure{"connect", requests.error().text, ""};
    return std::nullopt;
  }
  const auto [sent, received] =
      ask_both_ends<TcpReceived, TcpSent>(from, to, *requests, kTcpSend, kTcpReceive, stop);
  measurement.failure = cause_of(from.peer->node(), sent, to.peer->node(), received);
  if (sent) {
    measurement.packets = sent->packets;
    measurement.lost = sent->lost;
    measurement.mtu = sent->mtu;
    if (sent->copied > 0)
      measurement.counter_deltas[from.peer->node() + " zero-copy sends that the kernel copied"] =
          static_cast<std::int64_t>(sent->copied);
  }
  if (!received) return std::nullopt;
  measurement.intervals = received->intervals;
  measurement.summary = summarize(received->intervals);
  measurement.seconds = received->seconds;
  measurement.checked_bytes = received->checked_bytes;
  measurement.wrong_bytes = received->wrong_bytes;
  if (!sent) return std::nullopt;
  if (received->bytes > 0)
    measurement.cpu_seconds_per_gigabyte =
        (sent->cpu_seconds + received->cpu_seconds) / (static_cast<double>(received->bytes) / 1e9);
  return tcp_traffic(sent->totals);
}

std::optional<OwnTraffic> measure_tcp_latency(const PairEnd& from, const PairEnd& to, const BenchPlan& plan,
                                              Measurement& measurement, std::stop_token stop) {
  const auto requests = arrange(from, to, tcp_plan(plan, measurement.message_bytes, 1), stop);
  if (!requests) {
    measurement.failure = Failure{"connect", requests.error().text, ""};
    return std::nullopt;
  }
  const auto [pinged, echoed] =
      ask_both_ends<TcpEchoed, TcpPinged>(from, to, *requests, kTcpPing, kTcpEcho, stop);
  measurement.failure = cause_of(from.peer->node(), pinged, to.peer->node(), echoed);
  if (!pinged) return std::nullopt;
  measurement.summary = pinged->summary;
  measurement.seconds = pinged->seconds;
  measurement.mtu = pinged->mtu;
  measurement.packets = pinged->packets;
  measurement.lost = pinged->lost;
  measurement.checked_bytes = pinged->checked_bytes;
  measurement.wrong_bytes = pinged->wrong_bytes;
  return tcp_traffic(pinged->totals);
}

}  // namespace railbed

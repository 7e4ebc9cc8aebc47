#include "bench/ping/ping_engine.h"

#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "base/fields.h"
#include "base/random.h"
#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/core/typed.h"
#include "bench/ping/echo.h"
#include "bench/statistics/statistics.h"
#include "os/wait.h"

namespace railbed {
namespace {

constexpr std::string_view kPingMethod = "bench.ping";  // PingOrder → PingAnswer
constexpr std::uint64_t kSmallestPing = 8;
constexpr std::uint64_t kLargestPing = 65'000;             // fits in one IP packet with its headers
constexpr std::chrono::milliseconds kPingPause{10};        // between pings, so that they are no load
constexpr std::chrono::milliseconds kReplyPatience{1000};  // a later reply counts as lost
constexpr std::uint64_t kUnansweredAtFirst = 3;            // give up if the first three pings get no reply
constexpr double kMostPingSeconds = 3600;
constexpr std::chrono::seconds kPingMargin{10};

struct PingOrder {
  IpAddress from;
  IpAddress to;
  std::uint64_t bytes = 0;
  double warmup = 0;
  double seconds = 0;
  FIELDS(PingOrder, from, to, bytes, warmup, seconds);
};
struct PingAnswer {
  Summary summary;
  double seconds = 0;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::optional<Failure> failure;
  FIELDS(PingAnswer, summary, seconds, sent, lost, failure);
};

Failure unanswered(const PingOrder& order, std::string cause) {
  return {"run", std::move(cause),
          fmt::format("a firewall may drop ICMP echo requests to {}; nothing else needs them",
                      order.to.to_text())};
}

// Sends one echo request after the other and waits for each reply, with a pause in between. The time from a
// request to its reply is one sample; half of it is the latency. Requests of the warm-up give no sample, but
// count as sent and lost.
class EchoPinger {
 public:
  EchoPinger(EchoSocket socket, const PingOrder& order, std::stop_token stop)
      : socket_(std::move(socket)),
        order_(order),
        stop_(std::move(stop)),
        payload_(make_pattern(order.bytes, random_seed())) {}

  PingAnswer run() {
    const std::uint64_t counted_from = now_ns() + to_ns(order_.warmup);
    const std::uint64_t end = counted_from + to_ns(order_.seconds);
    while (!answer_.failure && now_ns() < end) {
      if (stop_.stop_requested()) answer_.failure = stopped_failure();
      if (!answer_.failure) ping(counted_from);
      std::this_thread::sleep_for(kPingPause);
    }
    answer_.seconds = order_.seconds;
    answer_.summary = sampler_.summary(true);
    if (!answer_.failure && sampler_.count() == 0)
      answer_.failure = unanswered(order_, fmt::format("{} answers no ping", order_.to.to_text()));
    return std::move(answer_);
  }

 private:
  void ping(std::uint64_t counted_from) {
    const std::uint64_t asked = now_ns();
    const bool sent = socket_.send(++sequence_, payload_);
    if (!sent) {
      answer_.failure =
          unanswered(order_, fmt::format("ping {}: {}", order_.to.to_text(), std::strerror(errno)));
      return;
    }
    ++answer_.sent;
    const bool heard = await_reply();
    const std::uint64_t done = now_ns();
    if (!heard) ++answer_.lost;
    if (heard && asked >= counted_from) sampler_.add(done - asked);
    if (answer_.sent % 10 == 0) sampler_.end_batch();
    if (answer_.lost == answer_.sent && answer_.lost >= kUnansweredAtFirst)
      answer_.failure =
          unanswered(order_, fmt::format("{} answered none of {} pings", order_.to.to_text(), answer_.sent));
  }

  bool await_reply() {
    const auto until = std::chrono::steady_clock::now() + kReplyPatience;
    while (wait_readable(socket_.fd(), until, stop_) == Waited::kReady)
      if (socket_.receive(sequence_, payload_)) return true;
    return false;
  }

  EchoSocket socket_;
  const PingOrder& order_;
  std::stop_token stop_;
  std::vector<std::byte> payload_;
  std::uint16_t sequence_ = 0;
  LatencySampler sampler_;
  PingAnswer answer_;
};

Result<PingAnswer> ping(const PingOrder& order, std::stop_token stop) {
  if (order.bytes < kSmallestPing || order.bytes > kLargestPing)
    return fail(ErrorKind::kBadInput,
                fmt::format("a ping of {} bytes: {} to {} fit; choose another --latency-size", order.bytes,
                            kSmallestPing, kLargestPing));
  if (!(order.seconds > 0 && order.warmup >= 0 && order.seconds + order.warmup <= kMostPingSeconds))
    return fail(ErrorKind::kBadInput,
                fmt::format("ping for {} s: at most {}; lower --seconds", order.seconds, kMostPingSeconds));
  auto socket = EchoSocket::open(order.from, order.to);
  if (!socket) {
    PingAnswer answer;
    answer.failure = Failure{"connect", socket.error().text,
                             "sysctl -w net.ipv4.ping_group_range='0 2147483647' lets everybody ping"};
    return answer;
  }
  return EchoPinger(std::move(*socket), order, std::move(stop)).run();
}

Handlers ping_handlers(AgentSide&) {
  Handlers handlers;
  handlers.emplace(kPingMethod, typed_handler<PingOrder>(ping));
  return handlers;
}

class PingEngine : public PairEngine {
 public:
  PingEngine(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, std::stop_token stop)
      : a_(a), b_(b), plan_(plan), stop_(std::move(stop)) {}

  bool can_measure(int /*operation*/, Metric metric) const override { return metric == Metric::kLatency; }

  void measure(int /*operation*/, bool from_a, Measurement& measurement) override {
    const PairEnd& from = from_a ? a_ : b_;
    const PairEnd& to = from_a ? b_ : a_;
    for (const PairEnd* end : {&from, &to})
      if (!has_ip(*end)) {
        measurement.failure =
            Failure{"connect", fmt::format("{} of {} has no IP address", end->interface, end->peer->node()),
                    "give the interface an address"};
        return;
      }
    const PingOrder order{*from.address, *to.address, measurement.message_bytes, plan_.warmup, plan_.seconds};
    const auto deadline =
        std::chrono::milliseconds(static_cast<std::int64_t>((plan_.warmup + plan_.seconds) * 1000)) +
        kPingMargin;
    auto answer = ask<PingAnswer>(*from.peer, kPingMethod, order, deadline, stop_);
    if (!answer) {
      measurement.failure = Failure{"run", at_node(from.peer->node(), answer.error()).text, ""};
      return;
    }
    measurement.summary = answer->summary;
    measurement.seconds = answer->seconds;
    measurement.packets = answer->sent;
    measurement.lost = answer->lost;
    measurement.failure = std::move(answer->failure);
    const std::uint64_t most = most_on_wire(answer->sent * order.bytes, answer->sent);
    own_ = OwnTraffic{most, most};
  }

  std::optional<OwnTraffic> own_traffic() const override { return own_; }

 private:
  const PairEnd& a_;
  const PairEnd& b_;
  const BenchPlan& plan_;
  std::stop_token stop_;
  std::optional<OwnTraffic> own_;
};

std::unique_ptr<PairEngine> open_ping(const PairEnd& a, const PairEnd& b, const BenchPlan& plan,
                                      const std::stop_token& stop) {
  return std::make_unique<PingEngine>(a, b, plan, stop);
}

}  // namespace

EngineRegistration ping_engine() {
  return {Engine::kPing, ping_handlers,
          PairMeasuring{"ICMP echo between two nodes, as ping: latency", {}, kSmallestPing, 1, open_ping}};
}

}  // namespace railbed

#include "bench/cm/cm_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/fields.h"
#include "base/random.h"
#include "bench/cm/cm_end.h"
#include "bench/core/ask_all.h"
#include "bench/core/chained_stop.h"
#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/core/sessions.h"
#include "bench/statistics/statistics.h"
#include "facts/network/net.h"
#include "facts/network/rdma.h"
#include "host/host.h"
#include "os/wait.h"

namespace railbed {
namespace {

constexpr std::string_view kCmListen = "bench.cm.listen";  // CmListen → CmListening
constexpr std::string_view kCmServe = "bench.cm.serve";    // CmServe → CmServed
constexpr std::string_view kCmPing = "bench.cm.ping";      // CmPing → CmPinged

constexpr std::uint64_t kSmallestCmMessage = 8;
constexpr std::uint64_t kLargestCmMessage = 1 << 20;
constexpr double kMostCmSeconds = 3600;
constexpr std::size_t kCmTokenBytes = 16;              // of randomness; as text it fits into private data
constexpr std::uint64_t kCmPatience = 10'000'000'000;  // ns for an answer
constexpr std::uint64_t kCmBatch = 100'000'000;        // ns
constexpr std::chrono::milliseconds kCmWitness{500};   // for the other end to say what it saw
constexpr double kCmSetUp = 40;                        // seconds for all steps but the messages
constexpr std::chrono::seconds kCmListenDeadline{20};

struct CmListen {
  std::string interface;
  IpAddress address;
  std::string peer;
  std::uint64_t bytes = 0;
  FIELDS(CmListen, interface, address, peer, bytes);
};
struct CmListening {
  std::string session;
  std::string device;
  int port = 0;
  bool no_library = false;
  std::optional<Failure> failure;
  FIELDS(CmListening, session, device, port, no_library, failure);
};
struct CmServe {
  std::string session;
  std::string token;
  double seconds = 0;  // at most, with the time until the peer connects
  FIELDS(CmServe, session, token, seconds);
};
struct CmServed {
  std::string device;
  std::uint64_t messages = 0;
  std::optional<Failure> failure;
  FIELDS(CmServed, device, messages, failure);
};
struct CmPing {
  std::string interface;
  IpAddress from;
  IpAddress to;
  int port = 0;
  std::string peer;
  std::string token;
  std::uint64_t bytes = 0;
  double warmup = 0;
  double seconds = 0;
  FIELDS(CmPing, interface, from, to, port, peer, token, bytes, warmup, seconds);
};
struct CmPinged {
  std::string device;
  Summary summary;
  double seconds = 0;
  std::uint64_t messages = 0;
  std::uint64_t checked_bytes = 0;
  std::uint64_t wrong_bytes = 0;
  bool no_library = false;
  std::optional<Failure> failure;
  FIELDS(CmPinged, device, summary, seconds, messages, checked_bytes, wrong_bytes, no_library, failure);
};

// Makes an end, or sets why there is none.
template <class Answer>
std::shared_ptr<CmEnd> make_cm_end(const std::string& peer, std::uint64_t bytes, Answer& answer) {
  const auto cm = cm_library();
  const auto verbs = verbs_library();
  if (!cm || !verbs) {
    answer.no_library = true;
    answer.failure = Failure{"connect", "could not look: " + (cm ? verbs.error() : cm.error()).text, ""};
    return nullptr;
  }
  return std::make_shared<CmEnd>(**cm, **verbs, peer, static_cast<std::size_t>(bytes));
}

Result<void> check_cm_bytes(std::uint64_t bytes) {
  if (bytes >= kSmallestCmMessage && bytes <= kLargestCmMessage) return {};
  return fail(ErrorKind::kBadInput, fmt::format("a message of {} bytes: {} to {} fit; choose another "
                                                "--latency-size",
                                                bytes, kSmallestCmMessage, kLargestCmMessage));
}

// Returns a failure if the connection manager chose a device that does not belong to the rail's interface.
CmFault other_device(Host& host, const std::string& device, const std::string& interface,
                     const IpAddress& address) {
  const Rdma rdma = collect_rdma(host);
  const Net net = collect_net(host);
  const auto& all = items(rdma.devices);
  const auto chosen = std::ranges::find(all, device, &RdmaDevice::name);
  const RdmaPortRef own = rdma_port_of(rdma, net, interface);
  if (chosen == all.end() || !own || own.device->name == device) return std::nullopt;
  Rdma alone;
  alone.devices = {std::vector{*chosen}, rdma.devices.from()};
  if (rdma_port_of(alone, net, interface)) return std::nullopt;  // a second device of the same interface
  return Failure{"connect",
                 fmt::format("RDMA-CM takes {} for {}, and {} belongs to {}", device, address.to_text(),
                             own.device->name, interface),
                 fmt::format("see which interface has {}: ip -brief address; rdma link", address.to_text())};
}

Result<CmListening> listen_for(Sessions<CmEnd>& ends, Host& host, const CmListen& request) {
  RETURN_IF_ERROR(check_cm_bytes(request.bytes));
  CmListening answer;
  const auto end = make_cm_end(request.peer, request.bytes, answer);
  if (!end) return answer;
  answer.failure = end->open();
  if (!answer.failure) answer.failure = end->listen(request.address);
  if (answer.failure) return answer;
  answer.device = end->device();
  if (!answer.device.empty())
    answer.failure = other_device(host, answer.device, request.interface, request.address);
  if (answer.failure) return answer;
  answer.port = end->port();
  answer.session = ends.add(end);
  return answer;
}

// Accepts the peer and returns each of its messages, until it disconnects.
Result<CmServed> serve(Sessions<CmEnd>& ends, const CmServe& request, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto end, ends.find(request.session));
  ends.remove(request.session);
  if (request.token.size() != 2 * kCmTokenBytes ||
      !(request.seconds > 0 && request.seconds <= 2 * kMostCmSeconds))
    return fail(ErrorKind::kBadInput, "a token, and a time");
  CmServed answer;
  answer.failure = end->accept(request.token, request.seconds, stop);
  answer.device = end->device();
  while (!answer.failure) {
    const CmEnd::Arrived arrived = end->await_message(kCmPatience, stop);
    answer.failure = arrived.fault;
    if (arrived.fault) break;
    if (!arrived.message) {
      answer.failure = end->disconnect(stop);
      break;
    }
    ++answer.messages;
    std::ranges::copy(end->incoming(), end->outgoing().begin());
    answer.failure = end->send();
  }
  return answer;
}

// Sends messages one by one and compares each answer with what was sent.
class CmPinger {
 public:
  CmPinger(CmEnd& end, const CmPing& order, std::stop_token stop, CmPinged& answer)
      : end_(end), order_(order), stop_(std::move(stop)), answer_(answer) {}

  void run() {
    const std::uint64_t start = now_ns();
    const std::uint64_t counted_from = start + to_ns(order_.warmup);
    const std::uint64_t stop_at = counted_from + to_ns(order_.seconds);
    std::uint64_t batch = counted_from + kCmBatch;
    for (std::uint64_t now = start; now < stop_at && !answer_.failure; now = now_ns()) {
      trade(counted_from);
      if (now < batch) continue;
      sampler_.end_batch();
      batch = now + kCmBatch;
    }
    answer_.seconds = order_.seconds;
    answer_.summary = sampler_.summary(true);
    if (!answer_.failure && answer_.wrong_bytes > 0)
      answer_.failure = Failure{
          "verify",
          fmt::format("{} of {} bytes came back changed", answer_.wrong_bytes, answer_.checked_bytes), ""};
    if (!answer_.failure) answer_.failure = end_.disconnect(stop_);
  }

 private:
  void trade(std::uint64_t counted_from) {
    fill_pattern(end_.outgoing(), scramble(++answer_.messages));
    std::ranges::fill(end_.incoming(), std::byte{});
    const std::uint64_t sent = now_ns();
    answer_.failure = end_.send();
    if (answer_.failure) return;
    const CmEnd::Arrived arrived = end_.await_message(kCmPatience, stop_);
    const std::uint64_t done = now_ns();
    answer_.failure = arrived.fault;
    if (!arrived.fault && !arrived.message)
      answer_.failure = Failure{"run", order_.peer + " disconnected before the end", ""};
    if (answer_.failure) return;
    if (sent >= counted_from) sampler_.add(done - sent);
    answer_.checked_bytes += order_.bytes;
    answer_.wrong_bytes += count_wrong(end_.incoming(), end_.outgoing());
  }

  CmEnd& end_;
  const CmPing& order_;
  std::stop_token stop_;
  CmPinged& answer_;
  LatencySampler sampler_;
};

Result<CmPinged> cm_ping(Host& host, const CmPing& order, const std::stop_token& stop) {
  RETURN_IF_ERROR(check_cm_bytes(order.bytes));
  if (order.token.size() != 2 * kCmTokenBytes || order.port < 1 || order.port > 65535 ||
      !(order.seconds > 0 && order.warmup >= 0 && order.seconds + order.warmup <= kMostCmSeconds))
    return fail(ErrorKind::kBadInput, fmt::format("a token, a port, and at most {} s", kMostCmSeconds));
  CmPinged answer;
  const auto end = make_cm_end(order.peer, order.bytes, answer);
  if (!end) return answer;
  answer.failure = end->open();
  if (!answer.failure) answer.failure = end->resolve(order.from, order.to, order.port, stop);
  answer.device = end->device();
  if (!answer.failure) answer.failure = other_device(host, answer.device, order.interface, order.from);
  if (!answer.failure) answer.failure = end->connect(order.token, stop);
  if (!answer.failure) CmPinger(*end, order, stop, answer).run();
  return answer;
}

Handlers cm_handlers(AgentSide& side) {
  const auto ends = std::make_shared<Sessions<CmEnd>>();
  const std::shared_ptr<Host> host = side.host;
  Handlers all;
  all.emplace(kCmListen, typed_handler<CmListen>([ends, host](const CmListen& request, std::stop_token) {
                return listen_for(*ends, *host, request);
              }));
  all.emplace(kCmServe, typed_handler<CmServe>([ends](const CmServe& request, std::stop_token stop) {
                return serve(*ends, request, stop);
              }));
  all.emplace(kCmPing, typed_handler<CmPing>([host](const CmPing& order, std::stop_token stop) {
                return cm_ping(*host, order, stop);
              }));
  return all;
}

// The controller's side.
class CmEngine : public PairEngine {
 public:
  CmEngine(const PairEnd& a, const PairEnd& b, const BenchPlan& plan, std::stop_token stop)
      : a_(a), b_(b), plan_(plan), stop_(std::move(stop)) {}

  bool can_measure(int /*operation*/, Metric metric) const override { return metric == Metric::kLatency; }

  void measure(int /*operation*/, bool from_a, Measurement& measurement) override {
    const PairEnd& from = from_a ? a_ : b_;
    const PairEnd& to = from_a ? b_ : a_;
    for (const PairEnd* end : {&from, &to})
      if (!has_ip(*end)) {
        measurement.failure = Failure{"connect",
                                      fmt::format("{} of {} has no IP address, by which RDMA-CM connects",
                                                  end->interface, end->peer->node()),
                                      "give the interface one; on InfiniBand ib_ipoib makes the interface"};
        return;
      }
    own_.reset();
    auto opened =
        ask<CmListening>(*to.peer, kCmListen,
                         CmListen{to.interface, *to.address, from.peer->node(), measurement.message_bytes},
                         kCmListenDeadline, stop_);
    name_node(to.peer->node(), opened);
    if (!opened || opened->failure) {
      measurement.failure = cause_of({end_said(to.peer->node(), opened)}, {0});
      mark(measurement, opened && opened->no_library);
      return;
    }
    run(from, to, *opened, measurement);
  }

  std::optional<OwnTraffic> own_traffic() const override { return own_; }

 private:
  void run(const PairEnd& from, const PairEnd& to, const CmListening& opened, Measurement& measurement) {
    const std::string token = random_hex(kCmTokenBytes);
    const double seconds = plan_.warmup + plan_.seconds + kCmSetUp;
    const auto deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
    const CmPing order{from.interface,
                       *from.address,
                       *to.address,
                       opened.port,
                       to.peer->node(),
                       token,
                       measurement.message_bytes,
                       plan_.warmup,
                       plan_.seconds};
    ChainedStop over(stop_);  // ends the other end's wait for a connection that will not come
    auto [pinged, served] = ask_both<CmPinged, CmServed>(
        [&](std::stop_token stop) {
          auto answer = ask<CmPinged>(*from.peer, kCmPing, order, deadline, std::move(stop));
          if (!answer || answer->failure) {
            wait_unless_stopped(kCmWitness, stop_);
            over.request();
          }
          return answer;
        },
        [&](const std::stop_token&) -> Result<CmServed> {
          auto answer = ask<CmServed>(*to.peer, kCmServe, CmServe{opened.session, token, seconds}, deadline,
                                      over.token());
          if (!answer && answer.error().kind == ErrorKind::kCancelled) return CmServed{};
          return answer;
        },
        stop_);
    name_node(from.peer->node(), pinged);
    name_node(to.peer->node(), served);
    // A side that cannot accept refuses, and the other side sees only that.
    const bool refused = served && served->failure;
    measurement.failure = cause_of({end_said(from.peer->node(), pinged), end_said(to.peer->node(), served)},
                                   refused ? std::vector<std::size_t>{1, 0} : std::vector<std::size_t>{0, 1});
    measurement.to.device = served && !served->device.empty() ? served->device : opened.device;
    if (!pinged) return;
    mark(measurement, pinged->no_library);
    measurement.from.device = pinged->device;
    measurement.summary = pinged->summary;
    measurement.seconds = pinged->seconds;
    measurement.checked_bytes = pinged->checked_bytes;
    measurement.wrong_bytes = pinged->wrong_bytes;
    // The smallest MTU of RDMA gives the most packets. Each is acknowledged.
    constexpr std::uint64_t kSmallestMtu = 256;
    const std::uint64_t packets = pinged->messages * (measurement.message_bytes / kSmallestMtu + 1);
    const std::uint64_t most = most_on_wire(pinged->messages * measurement.message_bytes, 2 * packets);
    own_ = OwnTraffic{most, most, true};
  }

  template <class Answer>
  static void name_node(const std::string& node, Result<Answer>& answer) {
    if (answer && answer->failure) answer->failure->cause = node + ": " + answer->failure->cause;
  }

  static void mark(Measurement& measurement, bool no_library) {
    if (measurement.failure && no_library) measurement.failure->kind = FailureKind::kNoRdmaCm;
  }

  const PairEnd& a_;
  const PairEnd& b_;
  const BenchPlan& plan_;
  std::stop_token stop_;
  std::optional<OwnTraffic> own_;
};

std::unique_ptr<PairEngine> open_cm(const PairEnd& a, const PairEnd& b, const BenchPlan& plan,
                                    const std::stop_token& stop) {
  return std::make_unique<CmEngine>(a, b, plan, stop);
}

}  // namespace

EngineRegistration cm_engine() {
  return {Engine::kRdmaCm, cm_handlers,
          PairMeasuring{"a connection by RDMA-CM between two nodes, as rping makes it: latency",
                        {},
                        kSmallestCmMessage,
                        1,
                        open_cm}};
}

}  // namespace railbed

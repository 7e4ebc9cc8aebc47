// Latency: ping-pong of writes or sends, or one read after the other. With writes each side spins on the last
// byte of its own memory. The echo is sent from the same memory in which the ping arrived, so the pinging
// side can check both directions.
//
// The rule of acknowledgments: neither end sends before its own last request has completed, which on a
// reliable connection means that the other adapter has acknowledged it. The reply to a ping often overtakes
// that acknowledgment. An end that continued at once would have the old request and the new one in flight
// together. These slow each other down, most of all in software RDMA, and the numbers would depend on their
// relative timing. The pinging side waits before it starts the clock (settle(), then `sent`), so the wait is
// not counted: the timed interval is one message there and one back, on an adapter that has nothing else to
// do. For reads the completion is the reply itself, and the result is the whole round trip, not half of it.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "bench/core/clock.h"
#include "bench/core/pattern.h"
#include "bench/core/processor_trial.h"
#include "bench/statistics/statistics.h"
#include "bench/verbs/verbs_state.h"

namespace railbed {
namespace {

constexpr std::uint64_t kLatencyBatch = 100'000'000;
constexpr std::uint64_t kPingPatience = 4'000'000'000;
constexpr std::uint64_t kEchoPatience = 6'000'000'000;
// A datagram without a reply for this time counts as lost. Nanoseconds, as are the other two.
constexpr std::uint64_t kDatagramPatience = 200'000'000;
constexpr std::uint64_t kSpinsToYield = 16384;
constexpr std::uint64_t kSpinsToLook = 1024;
constexpr std::uint64_t kSpinsToClock = 64 * kSpinsToLook;

unsigned char look(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<unsigned char*>(at)).load(std::memory_order_acquire);
}

// Posts requests on the first queue pair, and spins for their completions and for messages.
class Player {
 public:
  Player(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop, std::uint64_t patience)
      : state_(state),
        operation_(run.operation),
        slots_(state.slots(state.incoming(), run)),
        patience_(patience),
        yields_(few_processors()),
        done_(state.queue_pairs.size()),
        completions_(state, state.lanes.front().sends, "trading with", stop),
        inbox_(state, state.lanes.front().receives, "trading with", std::move(stop)) {}

  // Posts one request. `offset` is the destination in the other end's half. Returns false once the queue pair
  // has failed.
  bool post(std::span<const std::byte> local, std::size_t offset) {
    ibv_sge piece{reinterpret_cast<std::uint64_t>(local.data()), static_cast<std::uint32_t>(local.size()),
                  state_.mr->lkey};
    ibv_send_wr request{};
    request.wr_id = work_id(0, ++posted_);
    request.sg_list = &piece;
    request.num_sge = 1;
    request.send_flags = IBV_SEND_SIGNALED;
    if (operation_ != RdmaOperation::kRead && local.size() <= state_.inline_bytes)
      request.send_flags |= IBV_SEND_INLINE;
    state_.address(request, operation_, 0, offset);
    ibv_send_wr* bad = nullptr;
    ibv_post_send(state_.queue_pairs[0], &request, &bad);
    return !broken_;
  }
  // Waits until all posted requests have completed. Returns false on failure.
  bool settle() {
    return spin([this] { return poll_sends() && done_[0] >= posted_; }, [](std::uint64_t) { return false; });
  }
  bool poll_sends() {
    if (!completions_.poll(done_)) broken_ = true;
    return !broken_;
  }

  // Returns the numbers of the messages that arrived by send since the last call.
  const std::vector<std::uint64_t>& arrivals() {
    arrivals_.clear();
    if (!inbox_.poll(
            [&](const ibv_wc& completion) { arrivals_.push_back(completion.wr_id & 0xffff'ffff'ffff); }))
      broken_ = inbox_broken_ = true;
    return arrivals_;
  }
  std::span<std::byte> arrived(std::uint64_t message) const { return slots_.slot(0, message); }
  // Posts one new receive, to be called once for each message that arrived.
  void receive_after(std::uint64_t message) { state_.post_receives(slots_, 0, message + depth(), 1); }
  std::uint64_t depth() const { return state_.receive_depth(slots_); }

  // Spins until `arrived()` returns true. Returns false on failure, after the timeout, or if `over(since)`
  // returns true, which is called from time to time. `since` is the time at which the clock was first read;
  // it is 0 until the wait gets long, because in a virtual machine one reading may take as long as a message.
  template <class Arrived, class Over>
  bool spin(Arrived arrived, Over over) {
    std::uint64_t since = 0;
    for (std::uint64_t spins = 1; !arrived(); ++spins) {
      if (broken_) return false;
      if (yields_ && spins % kSpinsToYield == 0) sched_yield();
      if (spins % kSpinsToLook != 0) continue;
      if (over(since) || !poll_sends()) return false;
      if (spins % kSpinsToClock != 0) continue;
      if (since == 0) since = now_ns();
      if (now_ns() - since > patience_) return silent_ = true, false;
    }
    return true;
  }
  void give_up() { silent_ = true; }

  std::optional<Failure> failure() const {
    if (broken_) return inbox_broken_ ? inbox_.failure() : completions_.failure();
    if (silent_)
      return Failure{
          "run", fmt::format("{} did not answer for {} s", state_.peer, patience_ / 1'000'000'000),
          fmt::format("see whether {} is overloaded or its railbed agent is stopped", state_.peer)};
    return std::nullopt;
  }

 private:
  const RdmaSession::State& state_;
  RdmaOperation operation_;
  MessageSlots slots_;
  std::uint64_t patience_;
  bool yields_;
  bool broken_ = false;
  bool inbox_broken_ = false;
  bool silent_ = false;
  std::uint64_t posted_ = 0;
  std::vector<std::uint64_t> done_;
  std::vector<std::uint64_t> arrivals_;
  Completions completions_;
  Completions inbox_;
};

class Pinger {
 public:
  Pinger(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        run_(run),
        player_(state, run, std::move(stop), kPingPatience),
        message_(state.outgoing().first(run.message_bytes)),
        read_into_(state.slots(state.incoming(), run)),
        trial_(few_own_processors(), to_ns(run.warmup), 1) {}

  RdmaPinged run() {
    bool well = play_until(now_ns() + to_ns(run_.warmup), nullptr);
    const std::uint64_t start = now_ns();
    well = well && play_until(start + to_ns(run_.seconds), &sampler_);
    pinged_.seconds = static_cast<double>(now_ns() - start) / 1e9;
    pinged_.summary = sampler_.summary(run_.operation != RdmaOperation::kRead);
    if (!well) pinged_.failure = player_.failure();
    return std::move(pinged_);
  }

 private:
  bool play_until(std::uint64_t end, LatencySampler* sampler) {
    std::uint64_t batch_end = now_ns() + kLatencyBatch;
    answered_ = now_ns();
    for (std::uint64_t now = now_ns(); now < end && !through();) {
      number();
      if (!player_.settle()) return false;
      const std::uint64_t sent = now_ns();
      const bool came = trip();
      const std::uint64_t done = now_ns();
      now = done;
      if (!came && !lost(done)) return false;
      if (!came) continue;
      answered_ = done;
      pinged_.wrong_bytes += count_wrong(reply_, message_);
      trial_.count(done);
      if (sampler == nullptr) continue;
      sampler->add(done - sent);
      if (run_.pings > 0) pinged_.round_trips.push_back(done - sent);
      pinged_.checked_bytes += message_.size();
      if (done > batch_end) {
        sampler->end_batch();
        batch_end = now_ns() + kLatencyBatch;
      }
    }
    return true;
  }

  // Returns whether all pings that the run requests are done.
  bool through() const {
    return run_.pings > 0 && pinged_.round_trips.size() >= std::min(run_.pings, kMostRoundTrips);
  }

  // Counts a lost datagram. Returns false if the missing reply is a failure: the operation is not a datagram,
  // the queue pair failed, or no reply has come for too long.
  bool lost(std::uint64_t now) {
    if (run_.operation != RdmaOperation::kDatagram || player_.failure()) return false;
    ++pinged_.lost;
    if (now - answered_ < kPingPatience) return true;
    player_.give_up();
    return false;
  }

  void number() {
    ++sequence_;
    tick_ = static_cast<unsigned char>(sequence_ % 255 + 1);
    if (run_.operation == RdmaOperation::kRead) return read_into_.poison(0, 0);
    std::memcpy(message_.data(), &sequence_, std::min(message_.size(), sizeof sequence_));
    if (run_.operation == RdmaOperation::kWrite) message_.back() = std::byte{tick_};
  }

  bool trip() {
    const auto never = [](std::uint64_t) { return false; };
    switch (run_.operation) {
      case RdmaOperation::kWrite:
        reply_ = state_.incoming().first(message_.size());
        return player_.post(message_, 0) &&
               player_.spin([&] { return look(&reply_.back()) == tick_; }, never);
      case RdmaOperation::kRead:
        reply_ = read_into_.slot(0, 0);
        return player_.post(reply_, 0) && player_.settle();
      case RdmaOperation::kSend:
        return player_.post(message_, 0) && player_.spin([&] { return replied(false); }, never);
      case RdmaOperation::kDatagram:
        return player_.post(message_, 0) &&
               player_.spin(
                   [&] { return replied(true); },
                   [](std::uint64_t since) { return since != 0 && now_ns() - since > kDatagramPatience; });
    }
    return false;
  }

  // Returns whether the reply arrived. With `may_be_late`, skips replies to earlier datagrams, which may
  // still arrive after they were counted as lost.
  bool replied(bool may_be_late) {
    bool found = false;
    for (const std::uint64_t message : player_.arrivals()) {
      const auto got = player_.arrived(message);
      player_.receive_after(message);
      const std::size_t numbered = std::min(message_.size(), sizeof sequence_);
      if (may_be_late && std::memcmp(got.data(), message_.data(), numbered) != 0) continue;
      reply_ = got;
      found = true;
    }
    return found;
  }

  const RdmaSession::State& state_;
  const RdmaRun& run_;
  Player player_;
  std::span<std::byte> message_;
  MessageSlots read_into_;
  std::span<std::byte> reply_;
  ProcessorTrial trial_;
  LatencySampler sampler_;
  RdmaPinged pinged_;
  std::uint64_t sequence_ = 0;
  std::uint64_t answered_ = 0;
  unsigned char tick_ = 0;
};

}  // namespace

RdmaPinged RdmaSession::ping(const RdmaRun& run, std::stop_token stop) {
  pin_to(state_->set_up.cpus);
  RdmaPinged pinged = Pinger(*state_, run, std::move(stop)).run();
  if (!pinged.failure && pinged.wrong_bytes > 0)
    pinged.failure = Failure{"verify",
                             fmt::format("replies arrived changed: {} bytes differ from what was sent to {}",
                                         pinged.wrong_bytes, state_->peer),
                             "suspect memory or the adapters"};
  return pinged;
}

RdmaDone RdmaSession::echo(const RdmaRun& run, std::stop_token stop) {
  pin_to(state_->set_up.cpus);
  Player player(*state_, run, std::move(stop), kEchoPatience);
  ProcessorTrial trial(few_own_processors(), to_ns(run.warmup), 2);
  const auto echoed = [&] {
    if (!trial.over()) trial.count(now_ns());
  };
  const auto over = [&](std::uint64_t) { return state_->finished.load(); };
  if (!has_receiver(run.operation)) {
    const auto message = state_->incoming().first(run.message_bytes);
    unsigned char seen = 0;
    while (player.spin([&] { return look(&message.back()) != seen; }, over)) {
      seen = look(&message.back());
      if (!player.post(message, 0) || !player.settle()) break;
      echoed();
    }
    return {player.failure()};
  }
  // The receive for a slot is posted again only when the echo from that slot has left long ago.
  const std::uint64_t lag = player.depth() / 2;
  std::vector<std::uint64_t> arrivals;
  while (player.spin([&] { return !(arrivals = player.arrivals()).empty(); }, over))
    for (const std::uint64_t message : arrivals) {
      if (!player.post(player.arrived(message), 0) || !player.settle()) return {player.failure()};
      echoed();
      if (message >= lag) player.receive_after(message - lag);
    }
  return {player.failure()};
}

}  // namespace railbed

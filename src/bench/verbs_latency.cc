// Latency of RDMA writes: ping-pong. Each side spins on the last byte of its own memory; the echo is sent
// from the very memory that the ping arrived in, so the pinging side can check both ways.
#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <cstring>

#include "bench/clock.h"
#include "bench/pattern.h"
#include "bench/statistics.h"
#include "bench/verbs_state.h"

namespace railbed {
namespace {

constexpr std::uint64_t kBatch = 100'000'000;
constexpr std::uint64_t kPingPatience = 4'000'000'000;
constexpr std::uint64_t kEchoPatience = 6'000'000'000;
// The send queue is 128 deep or so: one signalled write in 32 keeps it from filling.
constexpr std::uint64_t kSignal = 32;
constexpr std::uint64_t kSpinsToYield = 64;
constexpr std::uint64_t kSpinsToLook = 1024;
constexpr std::uint64_t kSpinsToClock = 64 * kSpinsToLook;

class Player {
 public:
  Player(const RdmaSession::State& state, std::stop_token stop, std::uint64_t patience)
      : state_(state),
        patience_(patience),
        yields_(few_processors()),
        done_(state.queue_pairs.size()),
        completions_(state, std::move(stop)) {}

  // Writes `size` bytes from our memory to the other's, `offset` into its incoming half.
  bool send(const std::byte* from, std::size_t size, std::size_t offset) {
    ibv_sge piece{reinterpret_cast<std::uint64_t>(from), static_cast<std::uint32_t>(size), state_.mr->lkey};
    ibv_send_wr request{};
    request.wr_id = work_id(0, ++posted_);
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    if (size <= state_.inline_bytes) request.send_flags |= IBV_SEND_INLINE;
    if (posted_ % kSignal == 0) request.send_flags |= IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = state_.remote.address + offset;
    request.wr.rdma.rkey = state_.remote.key;
    ibv_send_wr* bad = nullptr;
    ibv_post_send(state_.queue_pairs[0], &request, &bad);
    if (posted_ % kSignal == 0 && !completions_.poll(done_)) broken_ = true;
    return !broken_;
  }

  // Spins until `arrived()`; false when the wait was in vain, or when `over()`, which is asked now and then.
  template <class Arrived, class Over>
  bool spin(Arrived arrived, Over over) {
    std::uint64_t since = 0;
    for (std::uint64_t spins = 1; !arrived(); ++spins) {
      if (yields_ && spins % kSpinsToYield == 0) sched_yield();
      if (spins % kSpinsToLook != 0) continue;
      if (over()) return false;
      if (!completions_.poll(done_)) return broken_ = true, false;
      if (spins % kSpinsToClock != 0) continue;
      if (since == 0) since = now_ns();
      if (now_ns() - since > patience_) return silent_ = true, false;
    }
    return true;
  }

  // Eight last bytes, and the wait until they arrived.
  void flush(const std::byte* from, std::size_t offset) {
    posted_ += kSignal - 1 - posted_ % kSignal;  // so that this one is signalled
    if (!send(from, 8, offset)) return;
    spin([&] { return done_[0] >= posted_; }, [&] { return completions_.poll(done_), false; });
  }

  std::optional<Failure> failure() const {
    if (broken_) return completions_.failure();
    if (silent_)
      return Failure{
          "run", fmt::format("{} did not answer for {} s", state_.peer, patience_ / 1'000'000'000),
          fmt::format("see whether {} is overloaded or its railbed agent is stopped", state_.peer)};
    return std::nullopt;
  }

 private:
  const RdmaSession::State& state_;
  std::uint64_t patience_;
  bool yields_;
  bool broken_ = false;
  bool silent_ = false;
  std::uint64_t posted_ = 0;
  std::vector<std::uint64_t> done_;
  Completions completions_;
};

unsigned char look(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<unsigned char*>(at)).load(std::memory_order_acquire);
}

class Pinger {
 public:
  Pinger(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        run_(run),
        player_(state, std::move(stop), kPingPatience),
        message_(state.outgoing().first(run.message_bytes)) {}

  RdmaPinged run() {
    RdmaPinged pinged;
    bool well = play_until(now_ns() + to_ns(run_.warmup), nullptr, pinged);
    const std::uint64_t start = now_ns();
    well = well && play_until(start + to_ns(run_.seconds), &sampler_, pinged);
    pinged.seconds = static_cast<double>(now_ns() - start) / 1e9;
    pinged.summary = sampler_.summary(true);
    if (well) player_.flush(end_source(), state_.set_up.half_bytes - kSignalRoom);
    pinged.failure = player_.failure();
    return pinged;
  }

 private:
  // Eight bytes that are not zero, in registered memory.
  const std::byte* end_source() const {
    std::byte* source = &state_.outgoing()[state_.set_up.half_bytes - kSignalRoom];
    std::fill_n(source, 8, std::byte{1});
    return source;
  }

  bool play_until(std::uint64_t end, LatencySampler* sampler, RdmaPinged& pinged) {
    std::byte* last = state_.last_byte(message_.size());
    std::uint64_t batch_end = now_ns() + kBatch;
    for (std::uint64_t now = now_ns(); now < end; now = now_ns()) {
      ++sequence_;
      const auto tick = static_cast<unsigned char>(sequence_ % 255 + 1);
      if (message_.size() > sizeof sequence_) std::memcpy(message_.data(), &sequence_, sizeof sequence_);
      message_.back() = std::byte{tick};
      const std::uint64_t sent = now_ns();
      if (!player_.send(message_.data(), message_.size(), 0) ||
          !player_.spin([&] { return look(last) == tick; }, [] { return false; }))
        return false;
      const std::uint64_t done = now_ns();
      pinged.wrong_bytes += count_wrong(state_.incoming().first(message_.size()), message_);
      if (sampler == nullptr) continue;
      sampler->add(done - sent);
      pinged.checked_bytes += message_.size();
      if (done > batch_end) {
        sampler->end_batch();
        batch_end = now_ns() + kBatch;
      }
    }
    return true;
  }

  const RdmaSession::State& state_;
  const RdmaRun& run_;
  Player player_;
  std::span<std::byte> message_;
  LatencySampler sampler_;
  std::uint64_t sequence_ = 0;
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
  Player player(*state_, std::move(stop), kEchoPatience);
  std::byte* last = state_->last_byte(run.message_bytes);
  unsigned char seen = 0;
  const auto arrived = [&] { return look(last) != seen; };
  const auto over = [&] { return look(state_->end_word()) != 0; };
  while (player.spin(arrived, over)) {
    seen = look(last);
    if (!player.send(state_->incoming().data(), run.message_bytes, 0)) break;
  }
  return {player.failure()};
}

}  // namespace railbed

// Bandwidth of sends, the passive end: takes messages, posts receives anew, and keeps the time of what
// arrived.
#include <numeric>

#include "bench/clock.h"
#include "bench/tcp_common.h"
#include "bench/verbs_state.h"

namespace railbed {
namespace {

// Datagrams that have not come this long after the last one was sent are lost.
constexpr std::uint64_t kLateDatagram = 300'000'000;
constexpr std::uint64_t kWholeOneIn = 8;

class Receiver {
 public:
  Receiver(RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        run_(run),
        datagrams_(run.operation == RdmaOperation::kDatagram),
        slots_(state.slots(state.incoming(), run)),
        twin_(state.slots(state.outgoing(), run)),
        depth_(state.receive_depth(slots_)),
        arrived_(state.queue_pairs.size()),
        posted_(state.queue_pairs.size(), depth_),
        completions_(state, state.receives, "receiving from", std::move(stop)) {}

  RdmaTransferred run() {
    if (!take_all()) result_.failure = completions_.failure();
    if (phase_ == Phase::kMeasuring) end_measuring(last_);
    result_.cpu_seconds = meter_.seconds();
    result_.messages = arrived_;
    return std::move(result_);
  }

 private:
  bool take_all() {
    while (!complete()) {
      const std::uint64_t before = total();
      if (!completions_.poll([&](const ibv_wc& one) { take(one); })) return false;
      if (total() == before) {
        if (!completions_.wait()) return datagrams_ && state_.finished;
        continue;
      }
      for (std::size_t qp = 0; qp < arrived_.size(); ++qp) {
        state_.post_receives(slots_, qp, posted_[qp], arrived_[qp] + depth_ - posted_[qp]);
        posted_[qp] = arrived_[qp] + depth_;
      }
      keep_time(now_ns());
    }
    return true;
  }

  bool complete() {
    if (!state_.finished) return false;
    const std::lock_guard lock(state_.finish_mutex);
    const auto& expected = state_.finish_messages;
    if (total() >= std::accumulate(expected.begin(), expected.end(), std::uint64_t{0})) return true;
    return datagrams_ && now_ns() - last_ > kLateDatagram;
  }

  void take(const ibv_wc& one) {
    const std::size_t qp = one.wr_id >> 48;
    const std::uint64_t message = one.wr_id & 0xffff'ffff'ffff;
    ++arrived_[qp];
    if (!datagrams_) return;
    const auto slot = slots_.slot(static_cast<int>(qp), message);
    const auto got = slot.first(
        std::min<std::size_t>(slot.size(), one.byte_len < kGlobalHeader ? 0 : one.byte_len - kGlobalHeader));
    const auto check = slots_.check_datagram(static_cast<int>(qp), got, twin_, message % kWholeOneIn == 0);
    result_.checked_bytes += check.checked;
    result_.wrong_bytes += check.wrong;
  }

  // The clock starts with the first message.
  void keep_time(std::uint64_t now) {
    last_ = now;
    if (started_ == 0) started_ = now;
    if (phase_ == Phase::kWarmUp && now - started_ >= to_ns(run_.warmup)) {
      phase_ = Phase::kMeasuring;
      meter_.follow(phase_);
      measuring_since_ = now;
      first_ = total();
      intervals_.begin(now, first_);
    } else if (phase_ == Phase::kMeasuring) {
      intervals_.progress(now, total(), run_.message_bytes, result_.intervals);
      if (now - measuring_since_ >= to_ns(run_.seconds)) end_measuring(now);
    }
  }
  void end_measuring(std::uint64_t now) {
    phase_ = Phase::kOver;
    meter_.follow(phase_);
    result_.seconds = static_cast<double>(now - measuring_since_) / 1e9;
    result_.bytes = (total() - first_) * run_.message_bytes;
  }

  std::uint64_t total() const { return std::accumulate(arrived_.begin(), arrived_.end(), std::uint64_t{0}); }

  RdmaSession::State& state_;
  const RdmaRun& run_;
  bool datagrams_;
  Slots slots_;
  Slots twin_;
  std::uint64_t depth_;
  std::vector<std::uint64_t> arrived_;
  std::vector<std::uint64_t> posted_;
  Completions completions_;
  IntervalMeter intervals_;
  ThreadMeter meter_;
  Phase phase_ = Phase::kWarmUp;
  std::uint64_t started_ = 0;
  std::uint64_t measuring_since_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = now_ns();
  RdmaTransferred result_;
};

}  // namespace

RdmaTransferred RdmaSession::receive(const RdmaRun& run, std::stop_token stop) {
  pin_to(state_->set_up.cpus);
  return Receiver(*state_, run, std::move(stop)).run();
}

void RdmaSession::finish(std::vector<std::uint64_t> messages) {
  const std::lock_guard lock(state_->finish_mutex);
  state_->finish_messages = std::move(messages);
  state_->finished = true;
}

}  // namespace railbed

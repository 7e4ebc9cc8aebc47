// Bandwidth, the active end: every queue pair keeps as many messages under way as its window allows.
#include <algorithm>
#include <array>

#include "bench/clock.h"
#include "bench/tcp_common.h"
#include "bench/verbs_state.h"

namespace railbed {
namespace {

constexpr std::size_t kChain = 16;  // requests a doorbell
constexpr std::uint64_t kTurnsToClock = 64;
// Messages above this are signalled each; smaller ones four times a window.
constexpr std::uint64_t kLargeMessage = 8 << 10;

std::string_view doing(RdmaOperation operation) {
  switch (operation) {
    case RdmaOperation::kWrite:
      return "writing to";
    case RdmaOperation::kRead:
      return "reading from";
    default:
      return "sending to";
  }
}

class Mover {
 public:
  Mover(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        run_(run),
        reads_(run.operation == RdmaOperation::kRead),
        slots_(state.slots(reads_ ? state.incoming() : state.outgoing(), run)),
        window_(window()),
        signal_(run.message_bytes > kLargeMessage ? 1 : std::max<std::uint64_t>(1, window_ / 4)),
        posted_(state.queue_pairs.size()),
        done_(state.queue_pairs.size()),
        completions_(state, state.sends, doing(run.operation), std::move(stop)) {}

  RdmaTransferred run() {
    RdmaTransferred result;
    const bool well = run_until(now_ns() + to_ns(run_.warmup), nullptr) && measure(result) && drain();
    if (!well) result.failure = completions_.failure();
    result.messages = posted_;
    return result;
  }

 private:
  // Sends fill half of the other end's receives, so that it can post new ones in time.
  std::uint64_t window() const {
    const std::uint64_t most = state_.receive_depth(slots_);
    return has_receiver(run_.operation) ? std::max<std::uint64_t>(1, most / 2) : most;
  }

  bool measure(RdmaTransferred& result) {
    ThreadMeter meter;
    meter.follow(Phase::kMeasuring);
    const std::uint64_t start = now_ns();
    const std::uint64_t first = total();
    meter_.begin(start, first);
    const bool well = run_until(start + to_ns(run_.seconds), &result.intervals);
    meter.follow(Phase::kOver);
    result.seconds = static_cast<double>(now_ns() - start) / 1e9;
    result.bytes = (total() - first) * run_.message_bytes;
    result.cpu_seconds = meter.seconds();
    return well;
  }

  bool run_until(std::uint64_t end, std::vector<double>* intervals) {
    std::uint64_t now = now_ns();
    for (std::uint64_t turn = 1; now < end; ++turn) {
      bool posted = false;
      for (std::size_t qp = 0; qp < posted_.size(); ++qp) posted |= post(qp, false);
      const std::uint64_t before = total();
      if (!completions_.poll(done_)) return false;
      const bool progressed = total() != before;
      if (!posted && !progressed && !completions_.wait()) return false;
      // Where the clock is no register (emulated machines) reading it costs as much as a small message.
      if (progressed || turn % kTurnsToClock == 0) now = now_ns();
      if (intervals != nullptr && progressed) meter_.progress(now, total(), run_.message_bytes, *intervals);
    }
    return true;
  }

  // Everything under way arrives; the last message of each queue pair is signalled, so that all are counted.
  bool drain() {
    for (std::size_t qp = 0; qp < posted_.size(); ++qp)
      while (posted_[qp] - done_[qp] >= window_)
        if (!step()) return false;
    for (std::size_t qp = 0; qp < posted_.size(); ++qp) post(qp, true);
    while (sum(posted_) != total())
      if (!step()) return false;
    return true;
  }
  bool step() {
    const std::uint64_t before = total();
    return completions_.poll(done_) && (total() != before || completions_.wait());
  }

  // Posts a chain as far as the window allows, one message alone when it is the last.
  bool post(std::size_t qp, bool last) {
    const std::uint64_t room = window_ - (posted_[qp] - done_[qp]);
    const std::size_t count = last ? 1 : std::min<std::uint64_t>(room, kChain);
    if (count == 0) return false;
    std::array<ibv_send_wr, kChain> requests{};
    std::array<ibv_sge, kChain> pieces{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t message = posted_[qp]++;
      if (reads_)
        slots_.poison(static_cast<int>(qp), message);
      else
        slots_.number(static_cast<int>(qp), message);
      const auto bytes = slots_.slot(static_cast<int>(qp), message);
      pieces[i] = {reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
                   state_.mr->lkey};
      ibv_send_wr& request = requests[i];
      request.wr_id = work_id(qp, posted_[qp]);
      request.next = i + 1 < count ? &requests[i + 1] : nullptr;
      request.sg_list = &pieces[i];
      request.num_sge = 1;
      request.send_flags = last || posted_[qp] % signal_ == 0 ? IBV_SEND_SIGNALED : 0;
      state_.address(request, run_.operation, qp, slots_.offset(static_cast<int>(qp), message));
    }
    // A request that cannot be posted never completes, which the limit of silence notices.
    ibv_send_wr* bad = nullptr;
    ibv_post_send(state_.queue_pairs[qp], requests.data(), &bad);
    return true;
  }

  std::uint64_t total() const { return sum(done_); }
  static std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }

  const RdmaSession::State& state_;
  const RdmaRun& run_;
  bool reads_;
  Slots slots_;
  std::uint64_t window_;
  std::uint64_t signal_;
  std::vector<std::uint64_t> posted_;
  std::vector<std::uint64_t> done_;
  Completions completions_;
  IntervalMeter meter_;
};

}  // namespace

RdmaTransferred RdmaSession::transfer(const RdmaRun& run, std::stop_token stop) {
  pin_to(state_->set_up.cpus);
  return Mover(*state_, run, std::move(stop)).run();
}

}  // namespace railbed

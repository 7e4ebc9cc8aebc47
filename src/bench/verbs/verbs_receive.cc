// Bandwidth of sends and datagrams, the passive end: takes messages, posts new receives, and measures the
// rate at which messages arrive. The run ends when finish() has set the number of messages and all have
// arrived. Datagrams are checked when they arrive, because some may be lost.
#include "bench/core/clock.h"
#include "bench/verbs/verbs_lanes.h"

namespace railbed {
namespace {

// Once the sender has finished, datagrams that have not come for this time (ns) after the last arrival are
// lost.
constexpr std::uint64_t kLateDatagram = 300'000'000;
constexpr std::uint64_t kWholeOneIn = 8;  // of this many datagrams, one is compared with all its bytes

// The work of one thread.
class Receiver {
 public:
  Receiver(RdmaSession::State& state, const RdmaRun& run, std::size_t lane, Course& course,
           std::stop_token stop)
      : state_(state),
        run_(run),
        lane_(lane),
        course_(course),
        datagrams_(run.operation == RdmaOperation::kDatagram),
        slots_(state.slots(state.incoming(), run)),
        twin_(state.slots(state.outgoing(), run)),
        depth_(state.receive_depth(slots_)),
        arrived_(state.queue_pairs.size()),
        posted_(state.queue_pairs.size(), depth_),
        completions_(state, state.lanes[lane].receives, "receiving from", std::move(stop)) {}

  RdmaTransferred run() {
    if (!take_all()) {
      course_.give_up();
      result_.failure = completions_.failure();
    }
    if (state_.gpu && !state_.gpu->error(lane_).empty())
      result_.failure = Failure{"run", state_.gpu->error(lane_), ""};
    if (lane_ == 0 && course_.phase() == Phase::kMeasuring) end_measuring(last_);
    cpu_.follow(Phase::kOver);
    result_.cpu_seconds = cpu_.seconds();
    result_.messages = arrived_;
    return std::move(result_);
  }

 private:
  bool take_all() {
    while (!complete() && !course_.given_up()) {
      const std::uint64_t before = total_;
      if (!completions_.poll([&](const ibv_wc& completion) { take(completion); })) return false;
      if (total_ == before) {
        if (!completions_.wait()) return datagrams_ && state_.finished;
        continue;
      }
      if (state_.staged() && !state_.gpu->wait_stored(lane_)) return false;
      course_.count(lane_, total_);
      for (std::size_t qp = lane_; qp < arrived_.size(); qp += state_.lanes.size()) {
        state_.post_receives(slots_, qp, posted_[qp], arrived_[qp] + depth_ - posted_[qp]);
        posted_[qp] = arrived_[qp] + depth_;
      }
      last_ = now_ns();
      if (lane_ == 0) keep_time(last_);
      cpu_.follow(course_.phase());
    }
    return true;
  }

  bool complete() {
    if (!state_.finished) return false;
    const std::lock_guard lock(state_.finish_mutex);
    const auto& expected = state_.finish_messages;
    std::uint64_t own = 0;
    for (std::size_t qp = lane_; qp < expected.size(); qp += state_.lanes.size()) own += expected[qp];
    if (total_ >= own) return true;
    return datagrams_ && now_ns() - last_ > kLateDatagram;
  }

  void take(const ibv_wc& completion) {
    const std::size_t qp = completion.wr_id >> 48;
    const std::uint64_t message = completion.wr_id & 0xffff'ffff'ffff;
    ++arrived_[qp];
    ++total_;
    const auto slot = slots_.slot(static_cast<int>(qp), message);
    if (state_.staged()) state_.gpu->store(slot, lane_);
    if (!datagrams_) return;
    const auto got = slot.first(std::min<std::size_t>(
        slot.size(), completion.byte_len < kGlobalHeader ? 0 : completion.byte_len - kGlobalHeader));
    const auto check = slots_.check_datagram(static_cast<int>(qp), got, twin_, message % kWholeOneIn == 0);
    result_.checked_bytes += check.checked;
    result_.wrong_bytes += check.wrong;
  }

  // The clock starts with the first message.
  void keep_time(std::uint64_t now) {
    if (started_ == 0) started_ = now;
    if (course_.phase() == Phase::kWarmUp && now - started_ >= to_ns(run_.warmup)) {
      course_.enter(Phase::kMeasuring);
      measuring_since_ = now;
      first_ = course_.total();
      intervals_.begin(now, first_);
    } else if (course_.phase() == Phase::kMeasuring) {
      intervals_.progress(now, course_.total(), run_.message_bytes, result_.intervals);
      if (now - measuring_since_ >= to_ns(run_.seconds)) end_measuring(now);
    }
  }
  void end_measuring(std::uint64_t now) {
    course_.enter(Phase::kOver);
    result_.seconds = static_cast<double>(now - measuring_since_) / 1e9;
    result_.bytes = (course_.total() - first_) * run_.message_bytes;
  }

  RdmaSession::State& state_;
  const RdmaRun& run_;
  std::size_t lane_;
  Course& course_;
  bool datagrams_;
  MessageSlots slots_;
  MessageSlots twin_;
  std::uint64_t depth_;
  std::vector<std::uint64_t> arrived_;
  std::vector<std::uint64_t> posted_;
  std::uint64_t total_ = 0;  // of arrived_
  Completions completions_;
  IntervalMeter intervals_;
  ThreadMeter cpu_;
  std::uint64_t started_ = 0;
  std::uint64_t measuring_since_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = now_ns();
  RdmaTransferred result_;
};

}  // namespace

RdmaTransferred RdmaSession::receive(const RdmaRun& run, std::stop_token stop) {
  Course course(state_->lanes.size());
  return run_lanes(*state_,
                   [&](std::size_t lane) { return Receiver(*state_, run, lane, course, stop).run(); });
}

void RdmaSession::finish(std::vector<std::uint64_t> messages) {
  const std::lock_guard lock(state_->finish_mutex);
  state_->finish_messages = std::move(messages);
  state_->finished = true;
}

}  // namespace railbed

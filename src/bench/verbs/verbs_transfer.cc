// Bandwidth, the active end: every queue pair keeps the number of messages in flight that its window allows.
//
// Two steps cost a processor more than the message itself, and are shared among many messages:
//
//   * Ringing the adapter's doorbell. Requests are linked to a chain of up to kChain and posted by one call.
//   * Completions. An adapter reports only signaled requests (IBV_SEND_SIGNALED), and a queue pair completes
//     in order: the report on message n means that all up to n are done. So only every signal_-th request,
//     one in 256 KiB, is signaled, and the number of the message is in the request's id.
//
// Fewer reports free the window in larger portions, and it must never run empty in between. So at least
// kSignalsOfWindow of them fall into one window. A thread that has several queue pairs fills the windows of
// all of them, then takes the completions from their common queue, at most one batch at a time.
//
// Messages that are in flight when the time is up must still arrive, and a full window takes many seconds on
// a link of some Mb/s. So the window starts with kFirstWindow and doubles as long as a whole one completes
// within kWindowTakes: on a fast link it is full in the first milliseconds of the warm-up, on a slow link it
// stays small.
#include <algorithm>
#include <array>

#include "bench/core/clock.h"
#include "bench/verbs/verbs_lanes.h"

namespace railbed {
namespace {

constexpr std::size_t kChain = 16;  // requests for each doorbell
constexpr std::uint64_t kTurnsToClock = 64;
// The bytes for each completion, and the smallest number of completions in a window. Fewer completions wake
// the thread less often; more of them divide the intervals more finely. Reads need more, because the other
// end idles if the next ones come in bursts.
constexpr std::uint64_t kBytesToSignal = 256 << 10;
constexpr std::uint64_t kSignalsOfWindow = 4;
constexpr std::uint64_t kSignalsOfReads = 64;
constexpr std::uint64_t kFirstWindow = 64 << 10;     // bytes
constexpr std::uint64_t kWindowTakes = 250'000'000;  // ns

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

// The work of one thread.
class Mover {
 public:
  Mover(const RdmaSession::State& state, const RdmaRun& run, std::size_t lane, Course& course,
        std::stop_token stop)
      : state_(state),
        run_(run),
        lane_(lane),
        course_(course),
        reads_(run.operation == RdmaOperation::kRead),
        slots_(state.slots(reads_ ? state.incoming() : state.outgoing(), run)),
        most_(most()),
        window_(std::clamp<std::uint64_t>(kFirstWindow / run.message_bytes, 1, most_)),
        signal_(messages_to_signal()),
        grown_at_(now_ns()),
        posted_(state.queue_pairs.size()),
        done_(state.queue_pairs.size()),
        completions_(state, state.lanes[lane].sends, doing(run.operation), std::move(stop)) {}

  RdmaTransferred run() {
    RdmaTransferred result;
    if (lane_ == 0)
      lead(result);
    else
      follow();
    if (!broken_ && !course_.given_up()) drain();
    if (broken_) result.failure = completions_.failure();
    if (state_.gpu && !state_.gpu->error(lane_).empty())
      result.failure = Failure{"run", state_.gpu->error(lane_), ""};
    result.cpu_seconds = cpu_.seconds();
    result.messages = posted_;
    return result;
  }

 private:
  // Returns the largest window. Sends use only half of the other end's receives, so that it can post new ones
  // in time.
  std::uint64_t most() const {
    const std::uint64_t most = state_.receive_depth(slots_);
    return has_receiver(run_.operation) ? std::max<std::uint64_t>(1, most / 2) : most;
  }

  std::uint64_t messages_to_signal() const {
    const std::uint64_t seldom = window_ / (reads_ ? kSignalsOfReads : kSignalsOfWindow);
    return std::clamp<std::uint64_t>(kBytesToSignal / run_.message_bytes, 1,
                                     std::max<std::uint64_t>(1, seldom));
  }

  // Grows the window once a whole window of every queue pair has completed. Requests from before are signaled
  // more often than the larger window needs, which does no harm.
  void grow_window() {
    if (window_ >= most_) return;
    const std::uint64_t queue_pairs =
        (posted_.size() - lane_ + state_.lanes.size() - 1) / state_.lanes.size();
    if (total_ - grown_from_ < window_ * queue_pairs) return;
    const std::uint64_t now = now_ns();
    if (now - grown_at_ < kWindowTakes) window_ = std::min(2 * window_, most_);
    signal_ = messages_to_signal();
    grown_at_ = now;
    grown_from_ = total_;
  }

  void lead(RdmaTransferred& result) {
    if (move_until(now_ns() + to_ns(run_.warmup), nullptr)) {
      enter(Phase::kMeasuring);
      const std::uint64_t start = now_ns();
      const std::uint64_t first = course_.total();
      meter_.begin(start, first);
      move_until(start + to_ns(run_.seconds), &result.intervals);
      result.seconds = static_cast<double>(now_ns() - start) / 1e9;
      result.bytes = (course_.total() - first) * run_.message_bytes;
    }
    enter(Phase::kOver);
  }
  void enter(Phase phase) {
    course_.enter(phase);
    cpu_.follow(phase);
  }

  // Moves messages until `end`, and longer until at least one interval is full: a large message may take
  // longer than the whole run.
  bool move_until(std::uint64_t end, std::vector<double>* intervals) {
    std::uint64_t now = now_ns();
    const auto lacks_one = [&] { return intervals != nullptr && intervals->empty(); };
    for (std::uint64_t turn = 1; now < end || lacks_one(); ++turn) {
      if (!take_turn()) return false;
      // If the clock is not a register (emulated machines), reading it takes as long as a small message.
      if (progressed_ || turn % kTurnsToClock == 0) now = now_ns();
      if (intervals != nullptr && progressed_)
        meter_.progress(now, course_.total(), run_.message_bytes, *intervals);
    }
    return true;
  }

  void follow() {
    for (Phase phase = course_.phase(); phase != Phase::kOver; phase = course_.phase()) {
      cpu_.follow(phase);
      if (!take_turn()) break;
    }
    cpu_.follow(Phase::kOver);
  }

  // Fills every window, then takes completions, or waits if there are none. Returns false if the transfer
  // must end.
  bool take_turn() {
    bool posted = false;
    for (std::size_t qp = lane_; qp < posted_.size(); qp += state_.lanes.size()) posted |= post(qp, false);
    return take_completions() && (posted || progressed_ || wait()) && !course_.given_up();
  }
  bool take_completions() {
    const std::uint64_t before = total_;
    if (!completions_.poll(done_)) return fail();
    total_ = sum(done_);
    progressed_ = total_ != before;
    if (!progressed_) return true;
    course_.count(lane_, total_);
    grow_window();
    return true;
  }
  bool wait() { return completions_.wait() || fail(); }
  bool fail() {
    broken_ = true;
    course_.give_up();
    return false;
  }

  // Waits for all messages in flight. One more message of each queue pair is signaled, so that all are
  // counted.
  void drain() {
    const auto step = [&] { return take_completions() && (progressed_ || wait()) && !course_.given_up(); };
    for (std::size_t qp = lane_; qp < posted_.size(); qp += state_.lanes.size()) {
      while (posted_[qp] - done_[qp] >= window_)
        if (!step()) return;
      post(qp, true);
    }
    while (sum(posted_) != total_)
      if (!step()) return;
  }

  // Posts a chain of as many messages as the window allows, or one signaled message if it is the last.
  // Returns false if the window is full.
  bool post(std::size_t qp, bool last) {
    const std::uint64_t room = window_ - (posted_[qp] - done_[qp]);
    const std::size_t count = last ? 1 : std::min<std::uint64_t>(room, kChain);
    if (count == 0) return false;
    std::array<ibv_send_wr, kChain> requests{};
    std::array<ibv_sge, kChain> pieces{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t message = posted_[qp]++;
      const auto bytes = slots_.slot(static_cast<int>(qp), message);
      if (state_.staged())
        state_.gpu->bring(bytes, lane_);
      else if (state_.in_host_memory() && reads_)
        slots_.poison(static_cast<int>(qp), message);
      else if (state_.in_host_memory())
        slots_.number(static_cast<int>(qp), message);
      pieces[i] = state_.piece(bytes);
      ibv_send_wr& request = requests[i];
      request.wr_id = work_id(qp, posted_[qp]);
      request.next = i + 1 < count ? &requests[i + 1] : nullptr;
      request.sg_list = &pieces[i];
      request.num_sge = 1;
      request.send_flags = last || posted_[qp] % signal_ == 0 ? IBV_SEND_SIGNALED : 0;
      state_.address(request, run_.operation, qp, slots_.offset(static_cast<int>(qp), message));
    }
    if (state_.staged() && !state_.gpu->wait_brought(lane_)) return fail();
    // A request that cannot be posted never completes, so the limit of silence ends the transfer.
    ibv_send_wr* bad = nullptr;
    ibv_post_send(state_.queue_pairs[qp], requests.data(), &bad);
    return true;
  }

  static std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }

  const RdmaSession::State& state_;
  const RdmaRun& run_;
  std::size_t lane_;
  Course& course_;
  bool reads_;
  MessageSlots slots_;
  std::uint64_t most_;    // the largest window
  std::uint64_t window_;  // messages of a queue pair that may be in flight now
  std::uint64_t signal_;  // every signal_-th request is signaled
  std::uint64_t grown_at_;
  std::uint64_t grown_from_ = 0;  // messages that had completed at grown_at_
  std::vector<std::uint64_t> posted_;
  std::vector<std::uint64_t> done_;
  std::uint64_t total_ = 0;  // of done_
  bool progressed_ = false;
  bool broken_ = false;
  Completions completions_;
  IntervalMeter meter_;
  ThreadMeter cpu_;
};

}  // namespace

RdmaTransferred RdmaSession::transfer(const RdmaRun& run, std::stop_token stop) {
  Course course(state_->lanes.size());
  return run_lanes(*state_, [&](std::size_t lane) { return Mover(*state_, run, lane, course, stop).run(); });
}

}  // namespace railbed

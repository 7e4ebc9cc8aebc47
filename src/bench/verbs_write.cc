// Bandwidth of RDMA writes: every queue pair keeps as many messages under way as it has slots.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "bench/clock.h"
#include "bench/tcp_common.h"
#include "bench/verbs_state.h"

namespace railbed {
namespace {

constexpr int kPollBatch = 32;
constexpr std::size_t kChain = 16;  // requests a doorbell
constexpr double kInterval = 0.1;
constexpr std::uint64_t kTurnsToClock = 64;
constexpr long kEnoughProcessors = 4;
constexpr std::uint64_t kSuspiciousSilence = 1'000'000'000;
constexpr std::uint64_t kLongestSilence = 10'000'000'000;
// Messages above this are signalled each; smaller ones four times a window.
constexpr std::uint64_t kLargeMessage = 8 << 10;

class Writer {
 public:
  Writer(const RdmaSession::State& state, const RdmaRun& run, std::stop_token stop)
      : state_(state),
        run_(run),
        slots_(state.slots(state.outgoing(), run)),
        window_(static_cast<std::uint64_t>(slots_.count())),
        signal_(run.message_bytes > kLargeMessage ? 1 : std::max<std::uint64_t>(1, window_ / 4)),
        posted_(state.queue_pairs.size()),
        done_(state.queue_pairs.size()),
        completions_(state, std::move(stop)) {}

  RdmaWritten run() {
    RdmaWritten written;
    const bool well = run_until(now_ns() + to_ns(run_.warmup), nullptr) && measure(written) && drain();
    if (!well) written.failure = completions_.failure();
    written.messages = posted_;
    return written;
  }

 private:
  bool measure(RdmaWritten& written) {
    ThreadMeter meter;
    meter.follow(Phase::kMeasuring);
    const std::uint64_t start = now_ns();
    before_ns_ = start;
    before_messages_ = total();
    const std::uint64_t first = before_messages_;
    const bool well = run_until(start + to_ns(run_.seconds), &written.intervals);
    meter.follow(Phase::kOver);
    written.seconds = static_cast<double>(now_ns() - start) / 1e9;
    written.bytes = (total() - first) * run_.message_bytes;
    written.cpu_seconds = meter.seconds();
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
      // Intervals end where a message does, else slow links with large messages would seem to go in steps.
      if (intervals != nullptr && progressed && now - before_ns_ >= to_ns(kInterval))
        end_interval(now, *intervals);
    }
    return true;
  }

  void end_interval(std::uint64_t now, std::vector<double>& intervals) {
    const std::uint64_t messages = total();
    intervals.push_back(static_cast<double>((messages - before_messages_) * run_.message_bytes) * 8e9 /
                        static_cast<double>(now - before_ns_));
    before_ns_ = now;
    before_messages_ = messages;
  }

  // Everything under way arrives; the last message of each queue pair is signalled, so that all are counted.
  bool drain() {
    for (std::size_t qp = 0; qp < posted_.size(); ++qp)
      while (posted_[qp] - done_[qp] >= window_)
        if (!step()) return false;
    for (std::size_t qp = 0; qp < posted_.size(); ++qp) post(qp, true);
    while (total_posted() != total())
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
      slots_.number(static_cast<int>(qp), message);
      const std::size_t offset = slots_.offset(static_cast<int>(qp), message);
      pieces[i] = {reinterpret_cast<std::uint64_t>(state_.outgoing().data()) + offset,
                   static_cast<std::uint32_t>(run_.message_bytes), state_.mr->lkey};
      ibv_send_wr& request = requests[i];
      request.wr_id = work_id(qp, posted_[qp]);
      request.next = i + 1 < count ? &requests[i + 1] : nullptr;
      request.sg_list = &pieces[i];
      request.num_sge = 1;
      request.opcode = IBV_WR_RDMA_WRITE;
      request.send_flags = last || posted_[qp] % signal_ == 0 ? IBV_SEND_SIGNALED : 0;
      request.wr.rdma.remote_addr = state_.remote.address + offset;
      request.wr.rdma.rkey = state_.remote.key;
    }
    // A request that cannot be posted never completes, which the limit of silence notices.
    ibv_send_wr* bad = nullptr;
    ibv_post_send(state_.queue_pairs[qp], requests.data(), &bad);
    return true;
  }

  std::uint64_t total() const { return sum(done_); }
  std::uint64_t total_posted() const { return sum(posted_); }
  static std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }

  const RdmaSession::State& state_;
  const RdmaRun& run_;
  Slots slots_;
  std::uint64_t window_;
  std::uint64_t signal_;
  std::vector<std::uint64_t> posted_;
  std::vector<std::uint64_t> done_;
  Completions completions_;
  std::uint64_t before_ns_ = 0;
  std::uint64_t before_messages_ = 0;
};

std::string remedy_of(ibv_wc_status status, const std::string& peer) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "look at both ends' link and cable; let UDP 4791 pass every firewall (RoCE v2); give the "
             "switches "
             "an MTU above the path MTU";
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return fmt::format("see whether the railbed agent on {} was killed", peer);
    default:
      return "see dmesg on both ends";
  }
}

}  // namespace

bool few_processors() { return sysconf(_SC_NPROCESSORS_ONLN) < kEnoughProcessors; }

Completions::Completions(const RdmaSession::State& state, std::stop_token stop)
    : state_(state), stop_(std::move(stop)), yields_(few_processors()), last_completion_(now_ns()) {}

bool Completions::poll(std::vector<std::uint64_t>& done) {
  std::array<ibv_wc, kPollBatch> batch;
  int good = 0;
  const int count = ibv_poll_cq(state_.cq, kPollBatch, batch.data());
  for (int i = 0; i < count; ++i) {
    const ibv_wc& completion = batch[static_cast<std::size_t>(i)];
    if (completion.status != IBV_WC_SUCCESS) {
      note(completion);
      continue;
    }
    auto& counted = done[completion.wr_id >> 48];
    counted = std::max(counted, completion.wr_id & 0xffff'ffff'ffff);
    idle_polls_ = 0;
    ++good;
  }
  if (good > 0) last_completion_ = now_ns();
  return count >= 0 && !status_ && !stop_.stop_requested();
}

// The first failure is the cause; what follows on the same queue pair is only flushed.
void Completions::note(const ibv_wc& completion) {
  if (status_ && (*status_ != IBV_WC_WR_FLUSH_ERR || completion.status == IBV_WC_WR_FLUSH_ERR)) return;
  status_ = completion.status;
  vendor_error_ = completion.vendor_err;
  silent_ns_ = now_ns() - last_completion_;
}

bool Completions::wait() {
  if (yields_) sched_yield();
  if (++idle_polls_ % 256 != 0) return true;
  silent_ns_ = now_ns() - last_completion_;
  // Some drivers (rxe) let writes hang on a port that is down: ask before the long silence is over.
  if (silent_ns_ > kSuspiciousSilence && (trouble_ = adapter_trouble(state_, 0))) return false;
  return silent_ns_ < kLongestSilence;
}

Failure Completions::failure() const {
  auto trouble = trouble_ ? trouble_ : adapter_trouble(state_, 0);
  if (!trouble) return completion_failure();
  trouble->cause += "; " + completion_failure().cause;
  return *trouble;
}

Failure Completions::completion_failure() const {
  const double seconds = static_cast<double>(silent_ns_) / 1e9;
  if (!status_ && stop_.stop_requested()) return {"run", "stopped on request", ""};
  if (!status_)
    return {"run", fmt::format("no completion of a write to {} for {:.0f} s", state_.peer, seconds),
            "see dmesg on both ends"};
  if (*status_ == IBV_WC_RETRY_EXC_ERR)
    return {"run",
            fmt::format("{}: no acknowledgement from {} for {:.1f} s", status_name(*status_), state_.peer,
                        seconds),
            remedy_of(*status_, state_.peer)};
  return {
      "run",
      fmt::format("{} writing to {} (vendor error {})", status_name(*status_), state_.peer, vendor_error_),
      remedy_of(*status_, state_.peer)};
}

RdmaWritten RdmaSession::write(const RdmaRun& run, std::stop_token stop) {
  pin_to(state_->set_up.cpus);
  return Writer(*state_, run, std::move(stop)).run();
}

}  // namespace railbed

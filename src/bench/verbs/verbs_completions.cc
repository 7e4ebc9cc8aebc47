// Waits for completions, and finds the cause if none come. With processors to spare the thread polls, because
// an interrupt costs more than a small message takes. With few processors, polling would take time from the
// software that the thread waits for (rxe). So there the queue is armed and the thread sleeps until an event.
// A completion from before the queue was armed causes no event, hence one more poll between arming and
// sleeping. While polling, the clock is read once in 256 idle polls.
//
// The first of many failed completions is the cause. When a queue pair breaks, the adapter returns all other
// requests on it as flushed, possibly before the cause itself. So a flush is kept only until the real cause
// comes.
#include <fmt/format.h>
#include <poll.h>

#include "bench/core/clock.h"
#include "bench/core/processor_trial.h"
#include "bench/verbs/verbs_state.h"

namespace railbed {
namespace {

constexpr double kVerbsInterval = 0.1;
constexpr int kSleepMs = 50;
constexpr std::uint64_t kSuspiciousSilence = 1'000'000'000;

std::string remedy_of(ibv_wc_status status, const std::string& peer) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return "look at both ends' link and cable; let UDP 4791 pass every firewall (RoCE v2); "
             "give the switches an MTU above the path MTU";
    case IBV_WC_REM_INV_REQ_ERR:
      return fmt::format(
          "measure again: software RDMA (rxe) does this now and then after it has sent packets again; an adapter "
          "that does so has its reason in dmesg of {}",
          peer);
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
      return fmt::format("see whether the railbed agent on {} was killed", peer);
    default:
      return "see dmesg on both ends";
  }
}

}  // namespace

Completions::Completions(const RdmaSession::State& state, const CompletionQueue& queue,
                         std::string_view doing, std::stop_token stop, std::uint64_t longest_silence)
    : state_(state),
      queue_(queue),
      doing_(doing),
      stop_(std::move(stop)),
      longest_silence_(longest_silence),
      sleeps_(few_processors()),
      last_completion_(now_ns()) {}

// Returns true for a good completion. Keeps the first failure, because later requests on the same queue pair
// are only flushed.
bool Completions::note(const ibv_wc& completion) {
  if (completion.status == IBV_WC_SUCCESS) {
    idle_polls_ = 0;
    last_completion_ = 0;  // wait() replaces it with the present time
    return true;
  }
  if (status_ && (*status_ != IBV_WC_WR_FLUSH_ERR || completion.status == IBV_WC_WR_FLUSH_ERR)) return false;
  status_ = completion.status;
  vendor_error_ = completion.vendor_err;
  silent_ns_ = last_completion_ == 0 ? 0 : now_ns() - last_completion_;
  return false;
}

bool Completions::wait() {
  if (sleeps_) sleep();
  if (!sleeps_ && ++idle_polls_ % 256 != 0) return true;
  const std::uint64_t now = now_ns();
  if (last_completion_ == 0) last_completion_ = now;
  silent_ns_ = now - last_completion_;
  // Some drivers (rxe) let writes hang on a port that is down. Check the adapter before the limit of silence.
  if (silent_ns_ > kSuspiciousSilence && (trouble_ = adapter_trouble(state_, 0))) return false;
  return silent_ns_ < longest_silence_;
}

// A completion from before the queue was armed causes no event. So the first call only arms the queue, and
// the caller polls again before the next call sleeps.
void Completions::sleep() {
  if (!armed_) {
    armed_ = ibv_req_notify_cq(queue_.cq, 0) == 0;
    return;
  }
  pollfd waiting{queue_.channel->fd, POLLIN, 0};
  if (::poll(&waiting, 1, kSleepMs) <= 0) return;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (state_.verbs->get_cq_event(queue_.channel, &cq, &context) != 0) return;
  state_.verbs->ack_cq_events(cq, 1);
  armed_ = false;
}

Failure Completions::failure() const {
  auto trouble = trouble_ ? trouble_ : adapter_trouble(state_, 0);
  if (!trouble) return completion_failure();
  trouble->cause += "; " + completion_failure().cause;
  return *trouble;
}

Failure Completions::completion_failure() const {
  const double seconds = static_cast<double>(silent_ns_) / 1e9;
  if (!status_ && stop_.stop_requested()) return stopped_failure();
  if (!status_)
    return {
        "run", fmt::format("{} {}: nothing completed for {:.0f} s", doing_, state_.peer, seconds),
        fmt::format("see whether {} is overloaded or its railbed agent is stopped, and dmesg on both ends",
                    state_.peer)};
  if (*status_ == IBV_WC_RETRY_EXC_ERR)
    return {"run",
            fmt::format("{}: no acknowledgement from {}{}", status_name(*status_), state_.peer,
                        silent_ns_ > 0 ? fmt::format(" for {:.1f} s", seconds) : ""),
            remedy_of(*status_, state_.peer)};
  return {
      "run",
      fmt::format("{} {} {} (vendor error {})", status_name(*status_), doing_, state_.peer, vendor_error_),
      remedy_of(*status_, state_.peer)};
}

void IntervalMeter::begin(std::uint64_t now, std::uint64_t messages) {
  since_ = now;
  messages_ = messages;
}

void IntervalMeter::progress(std::uint64_t now, std::uint64_t messages, std::uint64_t message_bytes,
                             std::vector<double>& intervals) {
  if (now - since_ < to_ns(kVerbsInterval)) return;
  intervals.push_back(static_cast<double>((messages - messages_) * message_bytes) * 8e9 /
                      static_cast<double>(now - since_));
  begin(now, messages);
}

}  // namespace railbed

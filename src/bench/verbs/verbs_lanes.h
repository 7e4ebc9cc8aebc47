// The threads of one transfer. Each has a lane of the session; the first keeps the time for all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/core/thread_meter.h"
#include "bench/verbs/verbs_state.h"

namespace railbed {

// The state that the threads of a transfer share. Thread-safe.
class Course {
 public:
  explicit Course(std::size_t lanes) : counts_(lanes) {}

  // Sets the number of messages that a lane has completed so far.
  void count(std::size_t lane, std::uint64_t messages) {
    counts_[lane].messages.store(messages, std::memory_order_relaxed);
  }
  std::uint64_t total() const {
    std::uint64_t total = 0;
    for (const Count& count : counts_) total += count.messages.load(std::memory_order_relaxed);
    return total;
  }
  // Only the first lane calls enter(); the others read phase().
  void enter(Phase phase) { phase_ = phase; }
  Phase phase() const { return phase_; }
  // To be called by a lane that failed. The others then end without a failure of their own.
  void give_up() { given_up_ = true; }
  bool given_up() const { return given_up_; }

 private:
  struct alignas(64) Count {
    std::atomic<std::uint64_t> messages{0};
  };
  std::vector<Count> counts_;
  std::atomic<Phase> phase_{Phase::kWarmUp};
  std::atomic<bool> given_up_{false};
};

// Runs `work` for every lane, each on a thread near the adapter, and adds up the results. Bytes, seconds and
// intervals are those of the first lane, which counts the messages of all lanes.
RdmaTransferred run_lanes(const RdmaSession::State& state,
                          const std::function<RdmaTransferred(std::size_t lane)>& work);

}  // namespace railbed

// Collects one subject of a watched machine on its own thread. If the work hangs (in a driver, on a dead file
// server), only this subject suffers: a caller waits until its own deadline, gets the previous result, and
// sees in the health that the result is old.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/result.h"
#include "monitor/metrics/node_metrics.h"

namespace railbed {

// Runs `work` on a detached thread, on request and optionally at a fixed period. Thread-safe.
class Collector {
 public:
  using Clock = std::chrono::steady_clock;
  // The work. It must keep alive what it uses: if it hangs, its thread outlives the collector.
  using Work = std::function<Result<void>(std::stop_token)>;
  static constexpr Clock::duration kNever = Clock::duration::max();

  // The time after which running work counts as hung. Whatever the work waits for has its own shorter
  // deadline, or is a file that should be readable at once.
  static constexpr Clock::duration kHangs = std::chrono::seconds(10);

  // Starts the thread. The work runs on request. If `period` is not kNever, it also runs at once and then
  // every `period`, counted from start to start.
  Collector(std::string name, Work work, Clock::duration period = kNever, Clock::duration hangs = kHangs);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  // Requests the work to stop and waits at most 2 seconds for its thread to end.
  ~Collector();

  // Starts the work unless it has run, or runs, from a moment at most `than` ago. Does not wait.
  void begin_if_older(Clock::duration than);
  // Returns a function that starts the work as soon as possible. The function may outlive the collector and
  // then does nothing.
  std::function<void()> bell() const;
  // Starts the work if needed and waits for a result whose work began at most `at_most_old` ago. Returns
  // false if there is none at `until`.
  bool wait(Clock::duration at_most_old, Clock::time_point until);
  // Returns the success and the duration of the work that ended last. If the running work hangs, returns
  // failure and the time it has run so far.
  CollectorHealth health() const;
  // Returns why the last work failed, or that it hangs; empty if neither.
  std::string why() const;

 private:
  struct State {
    std::string name;
    Work work;
    Clock::duration period;
    Clock::duration hangs;
    mutable std::mutex mutex;
    std::condition_variable_any changed;
    bool wanted = false;
    bool running = false;
    Clock::time_point began = {};  // start of the work that runs, or of the last one
    // Results of the work that ended last.
    bool ended = false;
    Clock::time_point result_began = {};
    double result_seconds = 0;
    bool success = false;
    std::string why = {};
    bool gone = false;  // the thread has ended
  };
  static void ring(State& state);
  // Returns whether a result began at or after `oldest`. Requires the mutex.
  bool has_since(Clock::time_point oldest) const;
  void begin_unless_since(Clock::time_point oldest);
  static void run(const std::shared_ptr<State>& state, std::stop_token stop);

  std::shared_ptr<State> state_;
  std::stop_source stop_;
};

}  // namespace railbed

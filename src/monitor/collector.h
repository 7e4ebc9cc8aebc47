// One subject of a watched machine, looked at on a thread of its own. What hangs there (a driver, a dead file
// server) costs this subject alone: whoever asks waits until his own deadline, gets what was there before,
// and sees by the health that it is old.
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
#include "monitor/node_metrics.h"

namespace railbed {

class Collector {
 public:
  using Clock = std::chrono::steady_clock;
  // Must keep alive what it uses: where it hangs, its thread outlives the collector.
  using Work = std::function<Result<void>(std::stop_token)>;
  static constexpr Clock::duration kNever = Clock::duration::max();

  // From here on a collector hangs: what it asks has deadlines of its own below that, or is a file that
  // should be there at once.
  static constexpr Clock::duration kHangs = std::chrono::seconds(10);

  // Works when it is asked to, and each `period` where that is not kNever.
  Collector(std::string name, Work work, Clock::duration period = kNever, Clock::duration hangs = kHangs);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector();

  // Begins where the last result is older than that; does not wait.
  void begin_if_older(Clock::duration than);
  // Has it begin as soon as it can; does nothing once the collector is gone.
  std::function<void()> bell() const;
  // Until a result is there that is at most so old, or `until`. False: there is none.
  bool wait(Clock::duration at_most_old, Clock::time_point until);
  // Of the work that ended last; of one that has not ended for long, that it fails, and for how long it has
  // gone on.
  CollectorHealth health() const;
  std::string why() const;  // it failed; empty: it did not

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
    Clock::time_point began = {};  // of what runs, or ran last
    // Of what ended last.
    bool ended = false;
    Clock::time_point result_began = {};
    double result_seconds = 0;
    bool success = false;
    std::string why = {};
    bool gone = false;  // the thread has nothing left to do
  };
  static void ring(State& state);
  bool has_since(Clock::time_point oldest) const;  // a result; with the mutex held
  void begin_unless_since(Clock::time_point oldest);
  static void run(const std::shared_ptr<State>& state, std::stop_token stop);

  std::shared_ptr<State> state_;
  std::stop_source stop_;
};

}  // namespace railbed

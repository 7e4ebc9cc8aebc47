// A few threads for work that would block the service's thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace railbed {

// The right to one piece of work. The first to call take() has it: the thread that does the work, or the
// connection that abandons it.
class WebErrand {
 public:
  // Returns whether the caller is the first.
  bool take() { return !taken_.exchange(true); }
  bool is_taken() const { return taken_; }

 private:
  std::atomic<bool> taken_{false};
};

// A pool of threads with a queue. Thread-safe.
class WebWorkers {
 public:
  explicit WebWorkers(std::size_t threads);
  ~WebWorkers();  // waits for running work; drops the queue

  // Adds work to the end of the queue, or to its front if `first`. The result of the work occupies memory
  // until delivered() is called. While twice as many results as threads wait for that, no more work is
  // started.
  std::shared_ptr<WebErrand> add(std::function<void()> work, bool first = false);
  // Reports that the result of one piece of work has been passed on.
  void delivered();
  // Returns the number of queued pieces of work.
  std::size_t waiting();

 private:
  struct Job {
    std::shared_ptr<WebErrand> errand;
    std::function<void()> work;
  };
  void serve();
  void forget_taken();

  const std::size_t most_undelivered_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::size_t undelivered_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace railbed

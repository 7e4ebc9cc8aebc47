// A few threads that do, beside the service's own, what takes time.
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

// One piece of work: whoever takes it first, the thread that does it or the one that gives it up, has it.
class WebErrand {
 public:
  bool take() { return !taken_.exchange(true); }
  bool is_taken() const { return taken_; }

 private:
  std::atomic<bool> taken_{false};
};

class WebWorkers {
 public:
  explicit WebWorkers(std::size_t threads);
  ~WebWorkers();  // waits for what is being done, and does no more

  // What comes out of `work` is to be taken, which delivered() tells: as long as too much is not, no more is
  // begun, or it would fill the memory.
  // `first`: before all that waits.
  std::shared_ptr<WebErrand> add(std::function<void()> work, bool first = false);
  void delivered();
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

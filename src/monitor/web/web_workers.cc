#include "monitor/web/web_workers.h"

#include <utility>

namespace railbed {

WebWorkers::WebWorkers(std::size_t threads) : most_undelivered_(2 * threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

WebWorkers::~WebWorkers() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<WebErrand> WebWorkers::add(std::function<void()> work, bool first) {
  auto errand = std::make_shared<WebErrand>();
  {
    const std::lock_guard lock(mutex_);
    forget_taken();
    jobs_.insert(first ? jobs_.begin() : jobs_.end(), Job{errand, std::move(work)});
  }
  changed_.notify_one();
  return errand;
}

// Removes abandoned work from the queue.
void WebWorkers::forget_taken() {
  std::erase_if(jobs_, [](const Job& job) { return job.errand->is_taken(); });
}

std::size_t WebWorkers::waiting() {
  const std::lock_guard lock(mutex_);
  forget_taken();
  return jobs_.size();
}

void WebWorkers::delivered() {
  {
    const std::lock_guard lock(mutex_);
    --undelivered_;
  }
  changed_.notify_one();
}

void WebWorkers::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || (!jobs_.empty() && undelivered_ < most_undelivered_); });
    if (over_) return;
    const Job job = std::exchange(jobs_.front(), {});
    jobs_.pop_front();
    if (!job.errand->take()) continue;
    ++undelivered_;
    lock.unlock();
    job.work();
    lock.lock();
  }
}

}  // namespace railbed

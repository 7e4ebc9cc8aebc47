// Threads that work in step and, should one of them fail, do not wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "results/measurement.h"

namespace railbed {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads), working_(threads) {}

  // Returns once every thread is here, by spinning: what follows starts together to a microsecond. False when
  // one has given up; then nobody waits any more.
  bool wait();
  // The first reason is kept.
  void give_up(std::string why, FailureKind kind = FailureKind::kOther);
  void leave();  // this thread is done

  // Until all have left or one gave up; answers why, or nothing.
  std::string wait_for_end();
  FailureKind kind();  // of that reason

 private:
  const int threads_;
  std::atomic<int> here_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int working_;
  std::string why_;
  FailureKind kind_ = FailureKind::kOther;
};

}  // namespace railbed

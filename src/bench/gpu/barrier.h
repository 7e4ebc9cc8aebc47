// Synchronizes threads that work in step. If one of them fails, the others do not wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "results/measurement.h"

namespace railbed {

// A reusable barrier. Any of its threads can give up, which ends all waits. Thread-safe.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads), working_(threads) {}

  // Returns once every thread has called it. Spins, so that the threads continue within a microsecond of each
  // other. Returns false once a thread has given up; then no thread waits any more.
  bool wait();
  // Ends all waits. The first reason is kept.
  void give_up(std::string why, FailureKind kind = FailureKind::kOther);
  void leave();  // this thread is done

  // Waits until all threads have left or one has given up. Returns the reason; empty if all have left.
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

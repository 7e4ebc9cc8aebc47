// The phases of a run, and the CPU time that a thread spends in the one that counts.
#pragma once

#include <time.h>

namespace railbed {

enum class Phase { kWarmUp, kMeasuring, kOver };

// Measures the CPU seconds that the calling thread spends in the phase kMeasuring. An object belongs to one
// thread.
class ThreadMeter {
 public:
  // To be called often with the present phase. A call without a change of phase costs one comparison.
  void follow(Phase phase) {
    if (phase == seen_) return;
    if (phase == Phase::kMeasuring) began_ = now();
    if (seen_ == Phase::kMeasuring) spent_ = now() - began_;
    seen_ = phase;
  }
  // Returns 0 until the phase after kMeasuring has begun.
  double seconds() const { return spent_; }

 private:
  static double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  Phase seen_ = Phase::kWarmUp;
  double began_ = 0;
  double spent_ = 0;
};

}  // namespace railbed

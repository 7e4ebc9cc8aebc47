// What the TCP engines share: complaints, phases and the CPU time of their threads.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/tcp/socket.h"
#include "results/measurement.h"

namespace railbed {

enum class Phase { kWarmUp, kMeasuring, kOver };

// CPU seconds that the calling thread spends while measuring.
class ThreadMeter {
 public:
  void follow(Phase phase) {
    if (phase == seen_) return;
    if (phase == Phase::kMeasuring) began_ = now();
    if (seen_ == Phase::kMeasuring) spent_ = now() - began_;
    seen_ = phase;
  }
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

Failure connect_failure(std::string_view peer, const std::string& text);
// Of a side that was sending when the transfer broke.
Failure send_failure(std::string_view peer, Break why, int fd);
Failure receive_failure(std::string_view peer, Break why);
Failure verify_failure(std::string_view peer, std::uint64_t wrong_bytes);

}  // namespace railbed

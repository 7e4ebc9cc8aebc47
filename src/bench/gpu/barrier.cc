#include "bench/gpu/barrier.h"

#include <thread>

namespace railbed {

bool Barrier::wait() {
  const unsigned round = round_.load();
  if (here_.fetch_add(1) + 1 == threads_) {
    here_.store(0);
    round_.fetch_add(1);
    return !over_.load();
  }
  // With fewer processors than threads, pure spinning would keep the others from arriving.
  constexpr int kPatience = 4096;
  for (int spins = 0; round_.load() == round; ++spins) {
    if (over_.load()) return false;
    if (spins > kPatience) std::this_thread::yield();
  }
  return !over_.load();
}

void Barrier::give_up(std::string why, FailureKind kind) {
  const std::lock_guard lock(mutex_);
  if (why_.empty()) {
    why_ = std::move(why);
    kind_ = kind;
  }
  over_.store(true);
  changed_.notify_all();
}

FailureKind Barrier::kind() {
  const std::lock_guard lock(mutex_);
  return kind_;
}

void Barrier::leave() {
  const std::lock_guard lock(mutex_);
  --working_;
  changed_.notify_all();
}

std::string Barrier::wait_for_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return working_ == 0 || over_.load(); });
  return why_;
}

}  // namespace railbed

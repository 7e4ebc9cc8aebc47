#include "bench/core/processor_trial.h"

#include <unistd.h>

#include <algorithm>

namespace railbed {
namespace {

constexpr long kEnoughProcessors = 4;

void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

bool few_processors() { return sysconf(_SC_NPROCESSORS_ONLN) < kEnoughProcessors; }

std::vector<int> few_own_processors() {
  std::vector<int> own;
  cpu_set_t set;
  if (!few_processors() || sched_getaffinity(0, sizeof set, &set) != 0) return own;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) own.push_back(processor);
  return own;
}

ProcessorTrial::ProcessorTrial(std::vector<int> processors, std::uint64_t ns, int rounds)
    : processors_(std::move(processors)),
      counts_(processors_.size()),
      slices_(processors_.size() * static_cast<std::size_t>(rounds)) {
  slice_ns_ = ns / std::max<std::size_t>(1, slices_);
  over_ = processors_.size() < 2 || slice_ns_ == 0 || sched_getaffinity(0, sizeof before_, &before_) != 0;
  if (over_)
    processors_.clear();
  else
    run_on(processors_.front());
}

ProcessorTrial::~ProcessorTrial() {
  if (!processors_.empty()) sched_setaffinity(0, sizeof before_, &before_);
}

void ProcessorTrial::count(std::uint64_t now) {
  if (over_) return;
  if (began_ == 0) began_ = now;
  ++counts_[slice_ % processors_.size()];
  const std::size_t slice = (now - began_) / slice_ns_;
  if (slice == slice_) return;
  slice_ = slice;
  over_ = slice >= slices_;
  const auto best = std::max_element(counts_.begin(), counts_.end()) - counts_.begin();
  run_on(processors_[over_ ? static_cast<std::size_t>(best) : slice % processors_.size()]);
}

}  // namespace railbed

// Which processor to spin on, where there are few.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

namespace railbed {

// Below this many processors a spinning thread takes time from the very network stack that it waits for (in
// virtual machines with software RDMA, say).
bool few_processors();
// Those that the calling thread may run on, where they are few; else none.
std::vector<int> few_own_processors();

// The processor that the adapter interrupts is a bad one to spin on: software RDMA then answers ten times
// later. So while it warms up a thread takes its processors in turn, counts what it gets done on each, and
// stays on the best. Afterwards it may run wherever it might before.
class ProcessorTrial {
 public:
  // `rounds`: how often each is tried within `ns`. Two ends that try at once need different ones: else
  // neither could tell its own processors from the other's. Fewer than two processors: nothing is tried.
  ProcessorTrial(std::vector<int> processors, std::uint64_t ns, int rounds);
  ~ProcessorTrial();
  ProcessorTrial(const ProcessorTrial&) = delete;
  ProcessorTrial& operator=(const ProcessorTrial&) = delete;

  bool over() const { return over_; }
  // Once whenever something got done, until it is over.
  void count(std::uint64_t now);

 private:
  std::vector<int> processors_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t slice_ns_;
  std::size_t slices_;
  std::size_t slice_ = 0;
  std::uint64_t began_ = 0;
  bool over_ = false;
  cpu_set_t before_;
};

}  // namespace railbed

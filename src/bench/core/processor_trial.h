// Chooses the processor on which a thread spins, on machines with few processors.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

namespace railbed {

// Returns true if the machine has fewer than four processors. There a spinning thread takes time from the
// network stack that it waits for (in virtual machines with software RDMA, for example).
bool few_processors();
// Returns the processors on which the calling thread may run; empty unless few_processors().
std::vector<int> few_own_processors();

// The processor that the adapter interrupts is a bad one to spin on: with software RDMA a reply then takes
// ten times as long. So during the warm-up a thread runs on its processors in turn, counts the round trips
// that it completes on each, and stays on the best. The destructor restores the thread's affinity. An object
// belongs to one thread, which must make, use and destroy it.
class ProcessorTrial {
 public:
  // Tries each of `processors` `rounds` times within `ns` nanoseconds. Two ends that try at the same time
  // need different numbers of rounds; else neither could separate the effect of its own processors from that
  // of the other's. With fewer than two processors the trial is over at once.
  ProcessorTrial(std::vector<int> processors, std::uint64_t ns, int rounds);
  ~ProcessorTrial();
  ProcessorTrial(const ProcessorTrial&) = delete;
  ProcessorTrial& operator=(const ProcessorTrial&) = delete;

  bool over() const { return over_; }
  // Counts one completion at the time `now` (nanoseconds, of any steady clock). Moves the thread to another
  // processor when a slice of the trial ends. Does nothing once the trial is over.
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

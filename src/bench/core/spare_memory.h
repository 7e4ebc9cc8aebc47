// The memory that a benchmark may take without harm to the machine. On unified memory the limit is critical:
// there a GPU's pages are the host's and cannot be swapped, and a DGX Spark that runs out of them freezes
// until its power is cut.
#pragma once

#include <cstdint>
#include <string>

#include "host/memory_left.h"

namespace railbed {

enum class MemoryUse {
  kHost,    // pages that the kernel may swap
  kPinned,  // pages that it may not swap: page-locked for a GPU
  kLocked,  // pages that it may not swap, counted against RLIMIT_MEMLOCK: registered with an adapter
  kGpu,     // the memory of a GPU
};

struct SpareMemory {
  std::uint64_t bytes = 0;
  std::string why;  // "the machine has 96 GiB available"; empty: nothing limits it
};
// Returns the bytes that each of `sharers` processes may take if all take the same at the same time. A GPU
// that has memory of its own does not share it: there each sharer gets the full amount. Only a part of the
// machine's memory is given out, because the programs that run there need the rest: half of the available
// memory for kHost, a quarter for kPinned and kLocked.
SpareMemory spare_memory(const MemoryLeft& left, MemoryUse use, int sharers = 1);

// "cut to 14 GiB: the machine has 96 GiB available"
std::string cut_text(std::uint64_t bytes, const SpareMemory& spare);

}  // namespace railbed

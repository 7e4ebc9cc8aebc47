// How much memory a bench may take without harm to the machine. On unified memory that is a matter of life
// and death: there a GPU's pages are the host's, cannot be swapped, and a DGX Spark that runs out of them
// freezes until its power is cut.
#pragma once

#include <cstdint>
#include <string>

#include "host/memory_left.h"

namespace railbed {

enum class MemoryUse {
  kHost,    // pages that the kernel may swap
  kPinned,  // pages that it may not: page-locked for a GPU
  kLocked,  // likewise, and counted against RLIMIT_MEMLOCK: registered with an adapter
  kGpu,
};

struct SpareMemory {
  std::uint64_t bytes = 0;
  std::string why;  // "the machine has 96 GiB available"; empty: nothing limits it
};
// What each of `sharers`, who take as much at the same time, may take. All but the GPU's own memory is the
// machine's, and what is running there needs the rest.
SpareMemory spare_memory(const MemoryLeft& left, MemoryUse use, int sharers = 1);

// "cut to 14 GiB: the machine has 96 GiB available"
std::string cut_text(std::uint64_t bytes, const SpareMemory& spare);

}  // namespace railbed

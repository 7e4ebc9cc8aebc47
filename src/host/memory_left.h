// The memory that a process may still use, as the kernel reports it.
#pragma once

#include <cstdint>
#include <optional>

namespace railbed {

class Host;

// Free memory at this moment, in bytes; nullopt if unknown or unlimited.
struct MemoryLeft {
  std::optional<std::uint64_t> host = {};      // MemAvailable, or less if a control group allows less
  std::optional<std::uint64_t> lockable = {};  // RLIMIT_MEMLOCK minus what this process has pinned
  std::optional<std::uint64_t> gpu = {};       // free on one GPU: cuMemGetInfo
  bool unified = false;                        // the GPU uses the host's memory
};
// Returns the host's values. The caller fills in those of a GPU.
MemoryLeft memory_left(Host& host);

}  // namespace railbed

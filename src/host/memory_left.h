// How much memory is left to a process, as the kernel tells.
#pragma once

#include <cstdint>
#include <optional>

namespace railbed {

class Host;

// What is left at this moment, in bytes; none: not known, or without limit.
struct MemoryLeft {
  std::optional<std::uint64_t> host = {};      // MemAvailable, or less where a control group allows less
  std::optional<std::uint64_t> lockable = {};  // RLIMIT_MEMLOCK less what this process has pinned already
  std::optional<std::uint64_t> gpu = {};       // free on one GPU: cuMemGetInfo
  bool unified = false;                        // the GPU's memory is the host's
};
// Of the host; the GPU's share is filled in by whoever has asked it.
MemoryLeft memory_left(Host& host);

}  // namespace railbed

#include "bench/verbs/verbs_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace railbed {
namespace {

constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

Result<PinnedMemory> PinnedMemory::map(std::size_t bytes) {
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* start = mmap(nullptr, bytes, kAccess, kFlags | MAP_HUGETLB, -1, 0);
  const bool huge = start != MAP_FAILED;
  if (!huge) {
    start = mmap(nullptr, bytes, kAccess, kFlags, -1, 0);
    if (start == MAP_FAILED)
      return fail(ErrorKind::kUnavailable,
                  fmt::format("{} MiB of memory: {}", bytes >> 20, std::strerror(errno)));
    madvise(start, bytes, MADV_HUGEPAGE);
  }
  // The agent forks for other requests. Children must neither copy nor keep pages that the adapter writes.
  madvise(start, bytes, MADV_DONTFORK);
  PinnedMemory memory;
  memory.bytes_ = {static_cast<std::byte*>(start), bytes};
  memory.huge_ = huge;
  return memory;
}

PinnedMemory::~PinnedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace railbed

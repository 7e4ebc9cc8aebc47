#include "bench/core/spare_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/units.h"

namespace railbed {
namespace {

// One n-th of the available memory; our own choice. The share of pinned memory is smaller, because the kernel
// cannot reclaim it when others need it.
constexpr std::uint64_t kHostShare = 2;
constexpr std::uint64_t kPinnedShare = 4;
// The memory that NCCL and the driver take in addition to the buffers of a benchmark.
constexpr std::uint64_t kGpuReserve = std::uint64_t{1} << 30;

SpareMemory of_host(const MemoryLeft& left, std::uint64_t share) {
  if (!left.host) return {std::numeric_limits<std::uint64_t>::max(), ""};
  return {*left.host / share, fmt::format("the machine has {} available", to_text(ByteCount{*left.host}))};
}

SpareMemory of_gpu(const MemoryLeft& left) {
  if (!left.gpu) return {std::numeric_limits<std::uint64_t>::max(), ""};
  return {*left.gpu - std::min(*left.gpu / 2, std::max(*left.gpu / 16, kGpuReserve)),
          fmt::format("the GPU has {} free", to_text(ByteCount{*left.gpu}))};
}

SpareMemory less_of(SpareMemory a, SpareMemory b) { return a.bytes <= b.bytes ? a : b; }

SpareMemory of_all(const MemoryLeft& left, MemoryUse use) {
  switch (use) {
    case MemoryUse::kHost:
      return of_host(left, kHostShare);
    case MemoryUse::kPinned:
      return of_host(left, kPinnedShare);
    case MemoryUse::kLocked:
      break;
    case MemoryUse::kGpu:
      // On unified memory, CUDA's number of free bytes leaves out memory that the kernel would reclaim (vLLM
      // issue 35313, llama.cpp pull request 17368), so the host's number is the better one.
      return left.unified && left.host ? of_host(left, kPinnedShare) : of_gpu(left);
  }
  const auto host = of_host(left, kPinnedShare);
  if (!left.lockable) return host;
  return less_of({*left.lockable, fmt::format("this process may lock {} more (RLIMIT_MEMLOCK)",
                                              to_text(ByteCount{*left.lockable}))},
                 host);
}

}  // namespace

SpareMemory spare_memory(const MemoryLeft& left, MemoryUse use, int sharers) {
  SpareMemory spare = of_all(left, use);
  // Each sharer has a GPU of its own, with memory of its own unless the memory is unified.
  const bool is_own = use == MemoryUse::kGpu && !(left.unified && left.host);
  if (!spare.why.empty() && !is_own) spare.bytes /= static_cast<std::uint64_t>(std::max(sharers, 1));
  return spare;
}

std::string cut_text(std::uint64_t bytes, const SpareMemory& spare) {
  return fmt::format("cut to {}: {}", to_text(ByteCount{bytes}), spare.why);
}

}  // namespace railbed

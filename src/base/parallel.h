// Runs the same pure work for many items on several threads: one per processor, at most 16.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace railbed {

// For fewer nodes than this the work takes less time than starting threads.
inline constexpr std::size_t kNodesWorthThreads = 64;

// Calls work(i) once for every i below `count`, in any order, and returns when all calls are done. `work`
// must be safe to call from several threads at once, and must not throw. With fewer than kNodesWorthThreads
// nodes the calling thread does all the work.
template <class Work>
void in_parallel(std::size_t count, std::size_t nodes, Work&& work) {
  constexpr std::size_t kMostThreads = 16;
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  const std::size_t processors = std::min<std::size_t>(std::thread::hardware_concurrency(), kMostThreads);
  std::vector<std::jthread> helpers;
  if (nodes >= kNodesWorthThreads)
    for (std::size_t i = 1; i < processors; ++i) helpers.emplace_back(run);
  run();
}

}  // namespace railbed

// The same pure work for many items, on as many threads as there are processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace railbed {

// Below this many nodes the work takes less time than starting threads.
inline constexpr std::size_t kNodesWorthThreads = 64;

// Calls work(i) for every i below `count`, each once, in no order; returns when all are done. One thread does
// it all where there are few nodes.
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

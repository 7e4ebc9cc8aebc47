// A long walk over every machine or rule takes minutes under the sanitizers, and a seventh of it runs the same code: a
// test takes all of it in the release build and a sample there.
#pragma once

#include <cstddef>
#include <ranges>
#include <vector>

namespace railbed {

inline constexpr std::size_t kSampleStride = RAILBED_SANITIZED ? 7 : 1;

// Returns copies of every kSampleStride-th element, from the first on.
template <std::ranges::range Range>
auto sampled(const Range& all) {
  std::vector<std::ranges::range_value_t<Range>> chosen;
  std::size_t at = 0;
  for (const auto& one : all)
    if (at++ % kSampleStride == 0) chosen.push_back(one);
  return chosen;
}

}  // namespace railbed

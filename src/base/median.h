// The median of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace railbed {

// Returns the median: of an even count of numbers the mean of the two in the middle. `numbers` must not be empty.
template <class Number>
Number median_of(std::vector<Number> numbers) {
  const auto half = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), half, numbers.end());
  if (numbers.size() % 2 == 1) return *half;
  return (*half + *std::max_element(numbers.begin(), half)) / 2;
}

}  // namespace railbed

// The words of an enum as the values of an option.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// Returns all words of the enum.
template <class Enum>
std::vector<std::string> words_of() {
  const auto names = enum_names(Enum{});
  return {names.begin(), names.end()};
}

// Returns the value for a word, which must be one of them: the parser has checked it.
template <class Enum>
Enum enum_of(std::string_view word) {
  const auto names = enum_names(Enum{});
  return static_cast<Enum>(std::ranges::find(names, word) - names.begin());
}

}  // namespace railbed

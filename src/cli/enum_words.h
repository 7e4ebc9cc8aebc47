// The words of an enum as those of an option.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

template <class Enum>
std::vector<std::string> words_of() {
  const auto names = enum_names(Enum{});
  return {names.begin(), names.end()};
}

// `word` is one of them: the parser has checked.
template <class Enum>
Enum enum_of(std::string_view word) {
  const auto names = enum_names(Enum{});
  return static_cast<Enum>(std::ranges::find(names, word) - names.begin());
}

}  // namespace railbed

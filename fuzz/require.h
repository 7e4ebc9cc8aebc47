// What every fuzzer holds to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace railbed {

inline void require(bool holds) {
  if (!holds) std::abort();
}

// Nothing in it moves a terminal's cursor, changes its state or turns the order of its letters.
inline void require_printable(std::string_view text) { require(printable_lines(text) == text); }

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace railbed

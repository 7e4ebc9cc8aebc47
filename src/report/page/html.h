// HTML and SVG built so that escaping cannot be forgotten: html("<p>{}</p>", name) escapes every text
// argument; only values of type Html go in as markup. Forms always quote their attribute values.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "report/escape.h"

namespace railbed {

struct Html {
  std::string markup;
  Html& operator+=(const Html& more) {
    markup += more.markup;
    return *this;
  }
  friend Html operator+(Html first, const Html& second) { return first += second; }
  bool empty() const { return markup.empty(); }
};

namespace detail {
template <class T>
auto inert(const T& value) {
  if constexpr (std::same_as<T, Html>) {
    return std::string_view(value.markup);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return escape_markup(value);
  } else {
    static_assert(std::is_arithmetic_v<T>, "text, number or Html");
    return value;
  }
}
template <class T>
using Inert = decltype(inert(std::declval<const T&>()));
}  // namespace detail

template <class... Args>
Html html(fmt::format_string<detail::Inert<Args>...> form, const Args&... args) {
  return {fmt::format(form, detail::inert(args)...)};
}

// Returns the longest beginning of the text that fits into `width` in a sans-serif font of this size, with
// "…" if it was cut. Widths are those of DejaVu Sans, which is wider than the fonts of most systems.
std::string fit(std::string_view text, double width, double font_size);

}  // namespace railbed

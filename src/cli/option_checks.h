// What the value of an option may be, refused in words that say what to write instead.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace railbed {

// Exactly one of these words. Help and completion show them.
CLI::Validator one_of(std::vector<std::string> words);
// The words of such an option; none of others.
std::vector<std::string> allowed_words(const CLI::Option& option);

// A number from `low` to `high`, both included.
template <class Number>
CLI::Validator between(Number low, Number high) {
  const auto check = [low, high](const std::string& text) {
    Number value{};
    if (!CLI::detail::lexical_cast(text, value))
      return fmt::format("\"{}\" is no {}; it takes {} to {}", text,
                         std::is_integral_v<Number> ? "whole number" : "number", low, high);
    if (value >= low && value <= high) return std::string();
    return fmt::format("{} is out of range; it takes {} to {}", text, low, high);
  };
  return CLI::Validator(check, fmt::format("{}..{}", low, high));
}

}  // namespace railbed

#include "cli/option_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "inventory/load.h"

namespace railbed {
namespace {

// Returns the hint for a number with a unit behind it, "12h"; empty for other words.
std::string unit_hint(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789.");
  const bool has_unit =
      end != std::string_view::npos && end > 0 && std::isalpha(static_cast<unsigned char>(text[end])) != 0;
  return has_unit ? ": write it without a unit, which --help names" : "";
}

template <class Number>
CLI::Validator range_of(Number low, Number high, std::string_view kind) {
  const auto check = [low, high, kind](const std::string& text) {
    Number value{};
    if (!CLI::detail::lexical_cast(text, value))
      return fmt::format("\"{}\" is no {}{}; it takes {} to {}", printable(text), kind, unit_hint(text), low,
                         high);
    if (value >= low && value <= high) return std::string();
    return fmt::format("{} is out of range; it takes {} to {}", printable(text), low, high);
  };
  return CLI::Validator(check, fmt::format("{}..{}", low, high));
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto check = [words = std::move(words)](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    const std::string meant = did_you_mean(text, {words.begin(), words.end()});
    return fmt::format("no \"{}\"{} takes {}", printable(text), meant.empty() ? "; it" : meant + " It",
                       fmt::join(words, ", "));
  };
  return CLI::Validator(check, shown);
}

std::vector<std::string> allowed_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto begin = type.find('{');
  const auto end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const auto found = split(std::string_view(type).substr(begin + 1, end - begin - 1), ',');
  return {found.begin(), found.end()};
}

CLI::Validator between(int low, int high) { return range_of(low, high, "whole number"); }
CLI::Validator between(double low, double high) { return range_of(low, high, "number"); }

CLI::Validator no_description(std::string instead) {
  const auto check = [instead = std::move(instead)](const std::string& text) {
    if (!is_description(text)) return std::string();
    return fmt::format("{} is a description and no node; {}", printable(text), instead);
  };
  return CLI::Validator(check, "");
}

}  // namespace railbed

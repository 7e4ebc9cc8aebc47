#include "cli/option_checks.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace railbed {

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto check = [words = std::move(words)](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    const std::string meant = did_you_mean(text, {words.begin(), words.end()});
    return fmt::format("no \"{}\"{} it takes {}", printable(text), meant.empty() ? ";" : meant,
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

}  // namespace railbed

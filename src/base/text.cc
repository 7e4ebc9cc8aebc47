#include "base/text.h"

#include <algorithm>
#include <cctype>

namespace railbed {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (;;) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return found;
    text.remove_prefix(first);
    const auto end = std::min(text.find_first_of(" \t\r\n"), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string_view> lines(std::string_view text) {
  auto found = split(text, '\n');
  if (!found.empty() && found.back().empty()) found.pop_back();
  for (auto& line : found)
    if (line.ends_with('\r')) line.remove_suffix(1);
  return found;
}

std::optional<std::pair<std::string_view, std::string_view>> key_value(std::string_view line,
                                                                       char separator) {
  const auto at = line.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair{trim(line.substr(0, at)), trim(line.substr(at + 1))};
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> closest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const std::size_t distance = edit_distance(lower(word), lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::optional<double> parse_real(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::vector<int>> parse_list(std::string_view text, std::size_t limit) {
  std::vector<int> numbers;
  if (trim(text).empty()) return numbers;
  for (const auto piece : split(trim(text), ',')) {
    const auto ends = split(piece, '-');
    const auto first = parse_number<int>(ends.front());
    const auto last = parse_number<int>(ends.back());
    if (!first || !last || ends.size() > 2 || *last < *first) return std::nullopt;
    if (static_cast<std::size_t>(*last - *first) >= limit - numbers.size()) return std::nullopt;
    for (int n = *first; n <= *last; ++n) numbers.push_back(n);
  }
  return numbers;
}

}  // namespace railbed

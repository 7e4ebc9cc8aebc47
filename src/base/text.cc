#include "base/text.h"

#include <algorithm>
#include <cctype>

namespace railbed {
namespace {

bool is_line_break_or_tab(char32_t c) { return c == '\n' || c == '\r' || c == '\t'; }

// Terminals obey C0 and C1 control characters. Direction overrides make text look like other text. U+FFFE and
// U+FFFF are not allowed in XML.
bool is_dangerous(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFFFE || c == 0xFFFF;
}

}  // namespace

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
    while (line.ends_with('\r')) line.remove_suffix(1);
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

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return {};
    value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[bytes] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, bytes};
}

std::string printable(std::string_view text, std::string_view instead) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (next.bytes != 0 && is_line_break_or_tab(next.value))
      result += ' ';
    else
      result += next.bytes == 0 || is_dangerous(next.value) ? instead : text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    if (!result.empty() || line.data() != text.data()) result += '\n';
    result += printable(line);
  }
  return result;
}

bool is_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

bool is_plain_word(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
}

bool same_secret(std::string_view given, std::string_view right) {
  if (given.size() != right.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    differs |= static_cast<unsigned>(given[i]) ^ static_cast<unsigned>(right[i]);
  return differs == 0;
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

namespace {

std::string sorted(std::string text) {
  std::ranges::sort(text);
  return text;
}

}  // namespace

std::optional<std::string_view> closest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const std::size_t distance = edit_distance(lower(word), lower(candidate));
    // Two changes leave nothing of a word of three letters, unless they exchange two of them ("tpc" for "tcp").
    const bool another_word =
        distance == 2 && word.size() <= 3 && sorted(lower(word)) != sorted(lower(candidate));
    if (distance < best_distance && !another_word) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const auto meant = closest(word.substr(0, 64), candidates);
  return meant ? ", did you mean \"" + std::string(*meant) + "\"?" : "";
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

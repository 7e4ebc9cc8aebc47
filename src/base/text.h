// Small parsing of text that the kernel and tools print. Every function takes text and never fails loudly.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::string_view trim(std::string_view text);
// Splits at every separator; empty pieces are kept.
std::vector<std::string_view> split(std::string_view text, char separator);
// Splits at runs of spaces and tabs; no empty pieces.
std::vector<std::string_view> words(std::string_view text);
// Lines without their newline; a last empty line is dropped.
std::vector<std::string_view> lines(std::string_view text);
// "key<separator>value" → trimmed pair; nothing when the separator is not there.
std::optional<std::pair<std::string_view, std::string_view>> key_value(std::string_view line, char separator);
std::string lower(std::string_view text);
// The character that a text, which is not empty, begins with (Unicode standard, table 3-7).
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};
CodePoint first_code_point(std::string_view text);
// One line that a terminal only shows, of text that may come from anybody. Line breaks and tabs become
// spaces; of other control characters, of what turns the direction of text and of bytes that are not UTF-8
// each becomes `instead`.
std::string printable(std::string_view text, std::string_view instead = "\xEF\xBF\xBD");
// Likewise, of text that may have several lines: they stay lines.
std::string printable_lines(std::string_view text);
// Visible ASCII without spaces, at most so many bytes: what names of devices, interfaces and hosts are.
bool is_plain_word(std::string_view text, std::size_t most);
// Without an early exit, so that the bytes of a secret cannot be found out one by one.
bool same_secret(std::string_view given, std::string_view right);
// Edit distance, for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate closest to `word`, when it is close enough to be a typing slip.
std::optional<std::string_view> closest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);
// `, did you mean "rails"?`, to stand behind a complaint; empty where nothing is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// True for one digit or more and nothing else. A text that is kept as it stands is checked with this:
// parse_number() also takes spaces around a number, and signs.
bool is_digits(std::string_view text);
// The whole (trimmed) text must be the number.
template <std::integral T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  text = trim(text);
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}
std::optional<double> parse_real(std::string_view text);
// "0-3,8,10-11" as the kernel prints CPU lists; at most `limit` numbers.
std::optional<std::vector<int>> parse_list(std::string_view text, std::size_t limit = 65536);

}  // namespace railbed

// Small parsers for text that the kernel and tools print. They report failure by nullopt or an empty result.
// Views in a result point into the text that was passed.
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
// Removes white space at both ends.
std::string_view trim(std::string_view text);
// Splits at every separator; keeps empty pieces.
std::vector<std::string_view> split(std::string_view text, char separator);
// Splits at runs of white space (space, tab, CR, LF); returns no empty pieces.
std::vector<std::string_view> words(std::string_view text);
// Splits into lines without "\n" and without trailing "\r"; drops an empty last line.
std::vector<std::string_view> lines(std::string_view text);
// Splits "key<separator>value" at the first separator and trims both parts; nullopt without a separator.
std::optional<std::pair<std::string_view, std::string_view>> key_value(std::string_view line, char separator);
std::string lower(std::string_view text);
// The first character of a text (Unicode standard, table 3-7). The text must not be empty.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};
CodePoint first_code_point(std::string_view text);
// Returns `text` as one line that cannot control a terminal; for untrusted text. Line breaks and tabs become
// spaces. Each other control character, each character that changes the direction of text and each byte that
// is not UTF-8 becomes `instead` (default: U+FFFD).
std::string printable(std::string_view text, std::string_view instead = "\xEF\xBF\xBD");
// The same for a text of several lines: keeps "\n".
std::string printable_lines(std::string_view text);
// Returns whether `text` is 1 to `most` bytes of visible ASCII without spaces, like names of devices,
// interfaces and hosts.
bool is_plain_word(std::string_view text, std::size_t most);
// Compares without an early exit: for texts of one length the time does not depend on their content, so that
// a secret cannot be guessed byte by byte.
bool same_secret(std::string_view given, std::string_view right);
// Returns the Levenshtein distance in bytes, for "did you mean". Takes O(|a| |b|) time and O(|b|) memory.
std::size_t edit_distance(std::string_view a, std::string_view b);
// Returns the candidate closest to `word`, ignoring case; nullopt if all differ by more than 2 edits and by
// more than a third of the word's length.
std::optional<std::string_view> closest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);
// Returns `, did you mean "rails"?`, to append to a message; empty if no candidate is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// Returns whether `text` consists of one or more digits and nothing else. Use this to check a text that is
// kept unchanged: parse_number() also accepts spaces around a number, and signs.
bool is_digits(std::string_view text);
// Parses a text that, trimmed, is exactly one number of type T; in base 16 "0x" may precede it.
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
// Parses a list of CPUs as the kernel prints it, "0-3,8,10-11"; empty text is an empty list. Returns nullopt
// for other text and for more than `limit` numbers.
std::optional<std::vector<int>> parse_list(std::string_view text, std::size_t limit = 65536);

}  // namespace railbed

#include "report/escape.h"

#include <cstdint>

namespace railbed {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The first code point of a text that is not empty (Unicode standard, table 3-7).
CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {};
    value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[bytes] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, bytes};
}

bool is_line_break_or_tab(char32_t c) { return c == '\n' || c == '\r' || c == '\t'; }

// Terminals obey C0 and C1 controls; direction overrides make text read as something else; U+FFFE and U+FFFF
// are not allowed in XML.
bool is_dangerous(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFFFE || c == 0xFFFF;
}

template <class Append>
void each_code_point(std::string_view text, Append&& append) {
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    append(next, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  each_code_point(text, [&](CodePoint c, std::string_view bytes) {
    if (c.bytes != 0 && is_line_break_or_tab(c.value))
      result += ' ';
    else
      result += c.bytes == 0 || is_dangerous(c.value) ? kReplacement : bytes;
  });
  return result;
}

std::string escape_markup(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string escape_label(std::string_view text) {
  std::string result;
  each_code_point(text, [&](CodePoint c, std::string_view bytes) {
    if (c.bytes == 0)
      result += kReplacement;
    else if (c.value == '\n')
      result += "\\n";
    else if (c.value == '\\' || c.value == '"')
      (result += '\\') += bytes;
    else
      result += bytes;
  });
  return result;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += is_continuation(c) ? 0 : 1;
  return count;
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (columns(text) <= limit) return std::string(text);
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end)
    if (!is_continuation(text[end]) && ++count >= limit) break;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace railbed

#include "report/escape.h"

namespace railbed {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

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
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
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

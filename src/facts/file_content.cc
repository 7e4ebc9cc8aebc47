#include "facts/file_content.h"

#include "base/text.h"

namespace railbed {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint next = first_code_point(text);
    if (next.bytes == 0) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::optional<FileContent> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  FileContent content;
  content.bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const auto high = kHexDigits.find(digits[i]);
    const auto low = kHexDigits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    content.bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return content;
}

}  // namespace

std::string FileContent::to_text() const {
  if (is_utf8(bytes)) return "t" + bytes;
  std::string text = "x";
  text.reserve(1 + 2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kHexDigits[byte >> 4]);
    text.push_back(kHexDigits[byte & 15]);
  }
  return text;
}

std::optional<FileContent> FileContent::parse(std::string_view text) {
  if (text.starts_with('t')) return FileContent{std::string(text.substr(1))};
  if (text.starts_with('x')) return from_hex(text.substr(1));
  return std::nullopt;
}

}  // namespace railbed

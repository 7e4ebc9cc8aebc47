#include "base/base64.h"

#include <cstdint>

namespace railbed {

std::string base64_encoded(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(c);
    for (count += 8; count >= 6; count -= 6) text.push_back(kBase64[bits >> (count - 6) & 63]);
  }
  if (count > 0) text.push_back(kBase64[bits << (6 - count) & 63]);
  while (text.size() % 4 != 0) text.push_back('=');
  return text;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  std::string_view digits = text;
  for (int i = 0; i < 2 && digits.ends_with('='); ++i) digits.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : digits) {
    const auto value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  if (base64_encoded(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace railbed

#include "report/page/html.h"

namespace railbed {
namespace {

// Returns a byte's width in em. A character above ASCII counts by its first byte: letters with accents like
// other letters, the rest of Unicode possibly as wide as an ideograph.
double width_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0xE1) return 1.05;
  if (byte >= 0xC0) return 0.84;
  if (byte >= 0x80) return 0;
  constexpr std::string_view kNarrow = "iljI|'!.,:;()[] tf-/\\r\"`*";
  constexpr std::string_view kWide = "mMW@%w+=<>~#GOQ&_";
  if (kNarrow.find(c) != std::string_view::npos) return 0.4;
  if (c == 'W' || c == 'M' || c == '@' || c == '%' || c == 'm') return 1;
  if (kWide.find(c) != std::string_view::npos) return 0.85;
  return c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::string fit(std::string_view text, double width, double font_size) {
  const std::string clean = printable(text);
  const double limit = width / font_size;
  const double ellipsis = 1;
  double used = 0;
  std::size_t keep = 0;  // length of the longest beginning that leaves room for "…"
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (starts_character(clean[i]) && used + ellipsis <= limit) keep = i;
    used += width_of(clean[i]);
  }
  return used <= limit ? clean : clean.substr(0, keep) + "…";
}

}  // namespace railbed

#include "monitor/live/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace railbed {
namespace {

// Returns the SGR code (ECMA-48).
std::string_view code_of(TopLook look) {
  switch (look) {
    case TopLook::kTitle:
      return "1";
    case TopLook::kGood:
      return "32";
    case TopLook::kWarn:
      return "33";
    case TopLook::kBad:
      return "31";
    case TopLook::kUnknown:
      return "36";
    case TopLook::kDim:
      return "2";
    case TopLook::kSelected:
      return "7";
    case TopLook::kPlain:
      break;
  }
  return "";
}

// Returns the first `count` characters.
std::string_view head_of(std::string_view text, std::size_t count) {
  std::size_t bytes = 0;
  while (count-- > 0 && bytes < text.size())
    bytes += std::max<std::size_t>(1, first_code_point(text.substr(bytes)).bytes);
  return text.substr(0, bytes);
}

std::string in_ascii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t bytes = std::max<std::size_t>(1, point.bytes);
    const std::string_view piece = text.substr(0, bytes);
    if (bytes == 1)
      out += piece;
    else
      out += piece == "→" ? "->" : piece == "…" ? "..." : piece == "·" || piece == "–" ? "-" : "?";
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string fitted(std::string_view text, std::size_t width) {
  const std::string clean = printable(text);
  std::string out(head_of(clean, width));
  out.append(width - length_of(out), ' ');
  return out;
}

std::string with_right(std::string_view left, std::string_view right, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 1));
  if (right.empty() || length_of(right) + 8 > columns) return std::string(left);
  return fitted(left, columns - length_of(right) - 1) + ' ' + printable(right);
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 8));
  const std::string clean = printable(text);
  std::vector<std::string> lines;
  std::string_view rest = clean;
  for (std::string_view head = head_of(rest, columns); head.size() < rest.size();
       head = head_of(rest, columns)) {
    const std::size_t space = head.rfind(' ');
    if (space != std::string_view::npos && space > head.size() / 3) head = head.substr(0, space);
    lines.emplace_back(head);
    rest.remove_prefix(head.size());
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  lines.emplace_back(rest);
  return lines;
}

std::string bytes_a_second(double value) {
  constexpr std::array<std::string_view, 5> kUnits = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 || value >= 99.95 ? fmt::format("{:.0f}{}", value, kUnits[unit])
                                     : fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::string sparkline(const LiveSamples& samples, std::size_t count, double full, bool unicode) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> kLetters = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const std::size_t begin = samples.size() > count ? samples.size() - count : 0;
  if (full <= 0)
    for (std::size_t i = begin; i < samples.size(); ++i) full = std::max(full, samples[i].value_or(0));
  std::string out(count - (samples.size() - begin), ' ');
  for (std::size_t i = begin; i < samples.size(); ++i) {
    if (!samples[i]) {
      out += ' ';
      continue;
    }
    const double part = full > 0 ? std::clamp(*samples[i] / full, 0.0, 1.0) : 0;
    const auto step = std::min<std::size_t>(static_cast<std::size_t>(part * 8), 7);
    out += unicode ? kBlocks[step] : kLetters[step];
  }
  return out;
}

std::string draw(const TopLine& line, const TopStyle& style) {
  const std::string text = style.unicode ? line.text : in_ascii(line.text);
  std::string shown(head_of(text, static_cast<std::size_t>(std::max(style.width, 1))));
  while (shown.ends_with(' ')) shown.pop_back();
  const std::string_view code = code_of(line.look);
  return !style.colour || code.empty() ? shown : fmt::format("\x1b[{}m{}\x1b[0m", code, shown);
}

}  // namespace railbed

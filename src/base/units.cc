#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text.h"

namespace railbed {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

// Formats with three significant digits: 0.85, 21.9, 512.
std::string significant(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95 || size == 0) return fmt::format("{:.0f}", value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string scaled(double value, std::span<const Scale> scales) {
  const Scale* fitting = &scales.front();
  for (const Scale& scale : scales)
    if (std::fabs(value) >= scale.factor * 0.9995) fitting = &scale;
  return significant(value / fitting->factor) + " " + fitting->unit;
}

struct Quantity {
  double number = 0;
  std::string_view unit;
};

// Splits "1.5 TiB" into 1.5 and "TiB"; nullopt unless the text begins with a positive number.
std::optional<Quantity> cut_quantity(std::string_view text) {
  text = trim(text);
  const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_real(text.substr(0, end));
  if (!number || *number <= 0) return std::nullopt;
  return Quantity{*number, trim(text.substr(end))};
}

}  // namespace

std::string to_text(BitRate rate) {
  static constexpr Scale kScales[] = {
      {1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}};
  return scaled(rate.bits_per_second, kScales);
}

std::string to_text(Nanoseconds duration) {
  static constexpr Scale kScales[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
  // Engineers use microseconds here even below one: 0.85 µs.
  const double ns = duration.count();
  if (std::fabs(ns) >= 100 && std::fabs(ns) < 1e3) return significant(ns / 1e3) + " µs";
  return scaled(ns, kScales);
}

std::string to_text(ByteCount size) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  std::uint64_t whole = size.bytes;
  double value = static_cast<double>(size.bytes);
  bool exact = true;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    exact = exact && whole % 1024 == 0;
    whole /= 1024;
    value /= 1024;
    ++unit;
  }
  if (exact) return fmt::format("{} {}", whole, kUnits[unit]);
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<BitRate> parse_bit_rate(std::string_view text) {
  const auto quantity = cut_quantity(text);
  if (!quantity || quantity->unit.empty()) return std::nullopt;
  static constexpr Scale kScales[] = {{1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}};
  for (const Scale& scale : kScales) {
    if (!quantity->unit.starts_with(scale.unit)) continue;
    const std::string_view rest = quantity->unit.substr(1);
    if (rest.empty() || rest == "b/s" || rest == "bit/s" || rest == "bps" || rest == "b" || rest == "bit")
      return BitRate{std::round(quantity->number * scale.factor)};
  }
  return std::nullopt;
}

std::optional<ByteCount> parse_byte_count(std::string_view text) {
  static constexpr Scale kScales[] = {{1, ""},         {1, "B"},        {0x1p10, "K"},   {0x1p20, "M"},
                                      {0x1p30, "G"},   {0x1p40, "T"},   {0x1p10, "KiB"}, {0x1p20, "MiB"},
                                      {0x1p30, "GiB"}, {0x1p40, "TiB"}, {1e3, "kB"},     {1e3, "KB"},
                                      {1e6, "MB"},     {1e9, "GB"},     {1e12, "TB"}};
  const auto quantity = cut_quantity(text);
  if (!quantity) return std::nullopt;
  for (const Scale& scale : kScales) {
    const double bytes = std::round(quantity->number * scale.factor);
    if (quantity->unit == scale.unit && bytes < 0x1p63) return ByteCount{static_cast<std::uint64_t>(bytes)};
  }
  return std::nullopt;
}

}  // namespace railbed

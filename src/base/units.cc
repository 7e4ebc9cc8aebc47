#include "base/units.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace railbed {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

// Three significant digits: 0.85, 21.9, 512.
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

}  // namespace

std::string to_text(BitRate rate) {
  static constexpr Scale kScales[] = {
      {1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}};
  return scaled(rate.bits_per_second, kScales);
}

std::string to_text(Nanoseconds duration) {
  static constexpr Scale kScales[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
  // The field's custom below a microsecond is still microseconds: 0.85 µs.
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

}  // namespace railbed

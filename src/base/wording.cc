#include "base/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "base/units.h"

namespace railbed {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) return text.append(one);
  return many.empty() ? text.append(one) + 's' : text.append(many);
}

std::string short_time_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string without_node(const Error& error) {
  const std::string prefix = error.node + ": ";
  return !error.node.empty() && error.text.starts_with(prefix) ? error.text.substr(prefix.size())
                                                               : error.text;
}

namespace {

// Returns whether the unit counts bytes: "GB/s", "GBps", "GB", "GiB/s"; not "GBASE-T", the name of an Ethernet.
bool counts_bytes(std::string_view unit) {
  const std::string_view rest = unit.substr(std::min<std::size_t>(1, unit.size()));
  return (rest.starts_with('B') && !rest.starts_with("BASE")) || rest.starts_with("iB") ||
         lower(rest).starts_with("byte");
}

}  // namespace

std::string did_you_mean_rate(std::string_view text) {
  text = trim(text);
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_real(text.substr(0, end));
  const std::string_view unit = trim(text.substr(end));
  // An Ethernet's name ("40GbE", "100GBASE-SR4"), or a unit in other letters ("gbps", "GB/s", "Gig").
  const char prefix =
      unit.empty() ? 'G' : static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front())));
  if (!number || (prefix != 'K' && prefix != 'M' && prefix != 'G' && prefix != 'T')) return {};
  const std::string bits = fmt::format(" {}b/s", prefix == 'K' ? 'k' : prefix);
  if (counts_bytes(unit))
    return fmt::format(
        "; a rate is in bits: did you mean \"{}{}\", or that many bytes, which are \"{:g}{}\"?",
        text.substr(0, end), bits, 8 * *number, bits);
  const std::string meant = std::string(text.substr(0, end)) + bits;
  return parse_bit_rate(meant) ? ", did you mean \"" + meant + "\"?" : std::string();
}

}  // namespace railbed

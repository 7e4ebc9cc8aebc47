#include "facts/log/kernel_console.h"

#include <algorithm>

#include "base/text.h"

namespace railbed {

std::string_view console_port(std::string_view console) { return console.substr(0, console.find(',')); }

bool is_serial_port(std::string_view port) {
  constexpr std::size_t kLongest = 15;
  const bool plain = std::ranges::all_of(
      port, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  return plain && !port.empty() && port.size() <= kLongest && is_digit(port.back()) &&
         !port.starts_with("uart");
}

std::vector<std::string> serial_consoles(std::string_view command_line) {
  std::vector<std::string> consoles;
  for (std::string_view word : words(command_line)) {
    if (!word.starts_with("console=")) continue;
    word.remove_prefix(8);
    const std::string_view port = console_port(word);
    const bool screen = port.starts_with("tty") && (port.size() == 3 || is_digit(port[3]));
    if (screen || port.empty()) continue;
    const bool known =
        std::ranges::any_of(consoles, [&](const std::string& one) { return console_port(one) == port; });
    if (!known) consoles.emplace_back(word);
  }
  return consoles;
}

std::optional<int> console_rate(std::string_view console) {
  const auto comma = console.find(',');
  if (comma == std::string_view::npos)
    return console.starts_with("ttyS") ? std::optional(9600) : std::nullopt;
  const std::string_view options = console.substr(comma + 1);
  return parse_number<int>(options.substr(0, options.find_first_not_of("0123456789")));
}

}  // namespace railbed

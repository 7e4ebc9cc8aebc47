#include "settings/serial_console.h"

#include <fmt/format.h>

#include "base/text.h"

namespace railbed {

std::optional<int> grub_unit(const SerialConsole& console) {
  if (!console.port.starts_with("ttyS")) return std::nullopt;
  const auto unit = parse_number<int>(console.port.substr(4));
  return unit && *unit <= 3 ? unit : std::nullopt;
}

std::string SerialConsole::kernel_text() const { return fmt::format("{},{}n8", port, rate); }

std::optional<SerialConsole> serial_console(const Configuration& configure) {
  if (!configure.console) return std::nullopt;
  return SerialConsole{*configure.console, configure.console_rate.value_or(kUsualConsoleRate)};
}

std::vector<std::string> kernel_arguments(const SerialConsole& console) {
  return {"console=tty0", "console=" + console.kernel_text()};
}

std::string grub_settings(const SerialConsole& console) {
  std::string text = fmt::format("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"\n",
                                 fmt::join(kernel_arguments(console), " "));
  if (const auto unit = grub_unit(console))
    text += fmt::format(
        "GRUB_TERMINAL=\"console serial\"\n"
        "GRUB_SERIAL_COMMAND=\"serial --speed={} --unit={} --word=8 --parity=no --stop=1\"\n",
        console.rate, *unit);
  return text;
}

}  // namespace railbed

// A serial console, as the kernel, the boot menu and a login want it named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inventory/cluster.h"

namespace railbed {

inline constexpr int kUsualConsoleRate = 115200;

struct SerialConsole {
  std::string port;  // ttyS1
  int rate = kUsualConsoleRate;

  std::string kernel_text() const;  // "ttyS1,9600n8"
};

// What `configure.console` asks for; none: nothing.
std::optional<SerialConsole> serial_console(const Configuration& configure);

// Of the kernel's command line. The serial port is the last one, so that it is /dev/console as well: what
// starts up writes there.
std::vector<std::string> kernel_arguments(const SerialConsole& console);

// Settings that update-grub reads besides /etc/default/grub (Debian and Ubuntu), without the first line.
inline constexpr const char* kGrubConsoleFile = "/etc/default/grub.d/90-railbed.cfg";
std::string grub_settings(const SerialConsole& console);

}  // namespace railbed

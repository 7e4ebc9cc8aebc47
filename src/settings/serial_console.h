// A serial console, in the notations of the kernel, the boot menu and the login.
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

// Returns the console of `configure.console`; nullopt if none is configured.
std::optional<SerialConsole> serial_console(const Configuration& configure);

// Returns arguments for the kernel's command line. The serial port is last, which makes it /dev/console,
// where programs write during startup.
std::vector<std::string> kernel_arguments(const SerialConsole& console);

// Returns GRUB's number of the port; nullopt if it has none: GRUB numbers the four ports of a PC, and reaches an Arm server's
// port through the firmware's own console.
std::optional<int> grub_unit(const SerialConsole& console);

// Settings that update-grub reads in addition to /etc/default/grub (Debian and Ubuntu), without kFileMark.
inline constexpr const char* kGrubConsoleFile = "/etc/default/grub.d/90-railbed.cfg";
std::string grub_settings(const SerialConsole& console);

}  // namespace railbed

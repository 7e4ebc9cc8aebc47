// The serial consoles that the kernel's command line selects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// Returns the value of each console= that is not a screen (tty0), as "ttyS1,9600n8", once per port. If a port
// is named twice, the kernel keeps the first settings (kernel/printk/printk.c, __add_preferred_console).
std::vector<std::string> serial_consoles(std::string_view command_line);
// Returns the port of a console, "ttyS1" of "ttyS1,9600n8".
std::string_view console_port(std::string_view console);
// Returns true for a port name such as ttyS1 or hvc0 that is safe in a command. False for
// "uart8250,io,0x3f8", which names no port.
bool is_serial_port(std::string_view port);
// Returns the rate in bit/s of a console such as "ttyS1,9600n8". Without a rate, a PC's port (ttyS) uses 9600
// (drivers/tty/serial/8250); for other ports returns nullopt, because an Arm server's firmware sets the rate.
std::optional<int> console_rate(std::string_view console);

}  // namespace railbed

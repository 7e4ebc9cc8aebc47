// The serial consoles that the kernel's command line names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed {

// "ttyS1,9600n8" of each console= that names no screen (tty0), once a port. Of a port that is named twice the
// kernel keeps the first settings (kernel/printk/printk.c, __add_preferred_console).
std::vector<std::string> serial_consoles(std::string_view command_line);
std::string_view console_port(std::string_view console);
// A port's name as the kernel gives it, ttyS1 or hvc0, and nothing else: it may stand in a command. Not
// "uart8250,io,0x3f8", which names no port.
bool is_serial_port(std::string_view port);
// bit/s of "ttyS1,9600n8". A PC's port without a rate has 9600 (drivers/tty/serial/8250); an Arm server's the
// one that its firmware set.
std::optional<int> console_rate(std::string_view console);

}  // namespace railbed

// The consoles of a machine whose network is down: serial ports, logins on them, GRUB's terminal, and the
// graphics controllers to which a screen may be connected.
#include <algorithm>

#include "facts/collectors.h"
#include "facts/log/kernel_console.h"
#include "facts/pcie.h"
#include "facts/readings.h"

namespace railbed {
namespace {

const std::string kGrubFile = "/etc/default/grub";
const std::string kGrubFolder = "/etc/default/grub.d";
constexpr std::size_t kMostGrubFiles = 256;
constexpr std::size_t kLargestGrubFile = 1 << 16;
constexpr std::size_t kLongestGrubValue = 160;
constexpr int kPortsOfAPc = 4;

// The settings that select the terminal of GRUB's menu; grub-mkconfig(8), util/grub-mkconfig.in.
constexpr std::string_view kGrubKeys[] = {"GRUB_TERMINAL", "GRUB_TERMINAL_INPUT", "GRUB_TERMINAL_OUTPUT",
                                          "GRUB_SERIAL_COMMAND"};

// Returns the value of KEY=VALUE as a shell would read it.
std::string shell_value(std::string_view text) {
  const bool quoted = text.starts_with('"') || text.starts_with('\'');
  const auto value =
      quoted ? text.substr(1, text.find(text.front(), 1) - 1) : text.substr(0, text.find_first_of(" \t#;"));
  return printable(value.substr(0, kLongestGrubValue));
}

std::optional<BootSetting> grub_setting(std::string_view line) {
  line = trim(line);
  if (line.starts_with("export ")) line = trim(line.substr(7));
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto known = std::ranges::find(kGrubKeys, line.substr(0, equals));
  if (known == std::end(kGrubKeys)) return std::nullopt;
  return BootSetting{std::string(*known), shell_value(line.substr(equals + 1)), {}};
}

void add_grub_file(const Reading<std::string>& text, std::vector<BootSetting>& settings) {
  if (!text) return;
  for (const auto line : lines(*text))
    if (auto found = grub_setting(line)) {
      found->file = text.from();
      settings.push_back(std::move(*found));
    }
}

// Reads the settings. Debian's and Ubuntu's update-grub reads the folder after the file; RHEL's
// grub2-mkconfig does not use the folder.
Reading<std::vector<BootSetting>> collect_boot_menu(Host& host) {
  const auto text = host.read(kGrubFile, kLargestGrubFile);
  if (!text) return {text.miss(), text.from()};
  std::vector<BootSetting> settings;
  add_grub_file(text, settings);
  auto names = host.list(kGrubFolder).value_or({});
  std::erase_if(
      names, [](const std::string& name) { return !is_device_name(name, 255) || !name.ends_with(".cfg"); });
  names.resize(std::min(names.size(), kMostGrubFiles));
  const std::string inside = kGrubFolder + "/";
  for (const auto& name : names) add_grub_file(host.read(inside + name, kLargestGrubFile), settings);
  return {std::move(settings), kGrubFile};
}

// Returns the serial ports that have hardware. The kernel creates ttyS0 to ttyS3 in any case; a port without
// hardware has type 0 (PORT_UNKNOWN, include/uapi/linux/serial_core.h).
Reading<std::vector<std::string>> collect_ports(Host& host) {
  std::vector<std::string> ports;
  Reading<int> type;
  bool any = false;
  for (int i = 0; i < kPortsOfAPc; ++i) {
    const std::string name = "ttyS" + std::to_string(i);
    type = read_number<int>(host, "/sys/class/tty/" + name + "/type");
    if (type.absent()) continue;
    if (!type) return {type.miss(), type.from()};
    any = true;
    if (*type != 0) ports.push_back(name);
  }
  if (!any) return {Miss{Missing::kAbsent, "no serial port of a PC"}, type.from()};
  return {std::move(ports), "/sys/class/tty/ttyS*/type"};
}

Reading<std::vector<Service>> collect_logins(Host& host, const Reading<std::string>& command_line) {
  if (!command_line) return {command_line.miss(), command_line.from()};
  std::vector<std::string> units;
  for (const std::string& console : serial_consoles(*command_line))
    if (const auto port = console_port(console); is_serial_port(port))
      units.push_back("serial-getty@" + std::string(port));
  if (units.empty()) return {std::vector<Service>{}, command_line.from()};
  return show_units(host, units);
}

Reading<std::vector<Display>> collect_displays(Host& host) {
  constexpr std::uint32_t kVga = 0x0300;
  const std::string folder = "/sys/bus/pci/devices";
  return host.list(folder).parsed([&](std::vector<std::string> addresses) {
    addresses.resize(std::min(addresses.size(), kMostOfAKind));
    std::vector<Display> displays;
    for (const auto& address : addresses) {
      if (sysfs_pci_address(address) != address) continue;
      const std::string device = folder + "/" + address;
      const auto code = read_number<std::uint32_t>(host, device + "/class", 16);
      if (!code || *code >> 8 != kVga) continue;
      displays.push_back({address, read_number<std::uint16_t>(host, device + "/vendor", 16),
                          read_number<std::uint16_t>(host, device + "/device", 16),
                          read_flag(host, device + "/boot_vga")});
    }
    return std::optional(std::move(displays));
  });
}

}  // namespace

bool is_boot_menu_file(std::string_view path) {
  return path == kGrubFile || path.starts_with(kGrubFolder + "/");
}

// The other settings may hold passwords: of the menu, of the kernel's command line.
std::string used_boot_menu(std::string_view text) {
  std::string used;
  for (const auto line : lines(text))
    if (grub_setting(line)) used += std::string(trim(line)) + "\n";
  return used;
}

ConsoleFacts collect_console(Host& host, const Reading<std::string>& command_line) {
  ConsoleFacts console;
  console.active = host.read_line("/sys/class/tty/console/active").parsed([](const std::string& line) {
    const auto names = words(line);
    return std::optional(std::vector<std::string>(names.begin(), names.end()));
  });
  console.ports = collect_ports(host);
  console.logins = collect_logins(host, command_line);
  console.boot_menu = collect_boot_menu(host);
  console.displays = collect_displays(host);
  return console;
}

}  // namespace railbed

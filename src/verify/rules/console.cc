// Consoles for a person without network access to the machine: boot menu, kernel messages and login on a
// serial port that the BMC forwards, and the screen image that the BMC sends.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/shell.h"
#include "base/text.h"
#include "facts/kernel_console.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns the serial consoles on the kernel's command line, with their settings; a node that names one is
// meant to have a serial console. Returns an empty list after ending the case otherwise: the defaults of a
// system's installer are no fault.
std::vector<std::string> meant_consoles(Case& verdict, const NodeView& node) {
  const std::string* line =
      verdict.read_if_there(node.facts->system.kernel.command_line,
                            "the kernel's command line cannot be told: it was not recorded");
  if (line == nullptr) return {};
  auto consoles = serial_consoles(*line);
  std::erase_if(consoles, [](const std::string& console) { return !is_serial_port(console_port(console)); });
  if (consoles.empty()) verdict.not_applicable("the kernel's command line names no serial port");
  return consoles;
}

std::string ports_of(const std::vector<std::string>& consoles) {
  std::vector<std::string_view> ports;
  for (const std::string& console : consoles) ports.push_back(console_port(console));
  return fmt::format("{}", fmt::join(ports, " and "));
}

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns true if the kernel's own list of consoles has the port, or the list could not be read. The kernel
// ignores a port that does not exist without a message.
bool writes_to(const NodeView& node, std::string_view port) {
  const auto& active = node.facts->system.console.active;
  return !active.ok() || is_among(*active, port);
}

std::vector<ShellCommand> move_console_with(const NodeView& node, const std::string& console,
                                            const std::string& to) {
  const std::string port(console_port(console));
  const std::string moved = to + console.substr(port.size());
  return for_system(
      node,
      {command("sed -i.bak {} /etc/default/grub",
               fmt::format("s/console={}\\>/console={}/g", sed_pattern(port), sed_replacement(to))),
       "update-grub"},
      {command("grubby --update-kernel=ALL --remove-args=console={} --args=console={}", console, moved)});
}

void serial_port(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "serial port", Things{"serial-console"}, [](Case& verdict, const NodeView& node) {
    const auto consoles = meant_consoles(verdict, node);
    if (consoles.empty()) return;
    const ConsoleFacts& facts = node.facts->system.console;
    const auto* active =
        verdict.read_if_there(facts.active, "where the kernel writes cannot be told: it was not recorded");
    if (active == nullptr) return;
    for (const std::string& console : consoles)
      if (is_among(*active, console_port(console)))
        return verdict.pass(fmt::format("the kernel writes to {}", console_port(console)));
    const auto* ports = verdict.read_if_there(facts.ports, "no serial port of a PC is there");
    if (ports == nullptr) return;
    std::vector<std::string> there;
    for (const std::string& port : *ports)
      if (is_serial_port(port)) there.push_back(port);
    if (there.empty()) return verdict.not_applicable("no serial port is there");
    for (const std::string& console : consoles)
      if (is_among(there, console_port(console)))
        return verdict.not_applicable(
            fmt::format("{} is there, and the kernel has not taken it", console_port(console)));
    const std::string named = ports_of(consoles);
    verdict.warn(
        {.message = fmt::format("the serial console of {} is blank from the moment the kernel starts: it is "
                                "told to write to {}, which is not there; the machine has {}",
                                *node.name, named, fmt::join(there, " and ")),
         .expected = fmt::format("console={}", fmt::join(there, " or console=")),
         .observed = fmt::format("console={}, and the kernel writes to {}", consoles.front(),
                                 active->empty() ? "nothing" : fmt::format("{}", fmt::join(*active, " "))),
         .remedy = {
             fmt::format("Name a port that is there; which of them the BMC carries stands in the "
                         "board's manual. Where `configure: {{console: {}}}` of cluster.yaml or a file "
                         "in /etc/default/grub.d says it, say it there.",
                         named),
             move_console_with(node, consoles.front(), there.back()), true}});
  });
}

const Service* find_login(const std::vector<Service>& logins, std::string_view port) {
  const std::string name = "serial-getty@" + std::string(port);
  const auto found = std::ranges::find(logins, name, &Service::name);
  return found == logins.end() ? nullptr : &*found;
}

void judge_login(Case& verdict, const std::string& node, const std::string& port, const Service& login) {
  const std::string unit = "serial-getty@" + port;
  if (login.active_state == "activating")
    return verdict.not_applicable("the login on " + port + " is starting");
  const bool masked = login.load_state == "masked";
  std::vector<ShellCommand> commands;
  if (login.active_state == "failed") commands.push_back(command("journalctl -b -u {}", unit));
  if (masked) commands.push_back(command("systemctl unmask {}", unit));
  commands.push_back(command("systemctl enable --now {}", unit));
  verdict.warn(
      {.message = fmt::format("the serial console of {} shows the kernel's text and no login prompt: {} "
                              "is {}",
                              node, unit, masked ? "masked" : login.active_state),
       .expected = "active",
       .observed = masked ? "masked" : login.active_state,
       .remedy = {"Start the login, now and at every boot.", std::move(commands)}});
}

// systemd-getty-generator(8) starts a login on each serial port that the kernel writes to.
void serial_login(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "login on the serial port", Things{"serial-console"},
            [](Case& verdict, const NodeView& node) {
              if (verdict.lacks_systemd(node)) return;
              const auto consoles = meant_consoles(verdict, node);
              if (consoles.empty()) return;
              const auto* logins = verdict.read_if_there(node.facts->system.console.logins,
                                                         "whether a login waits there cannot be told: it was "
                                                         "not recorded");
              if (logins == nullptr) return;
              std::string waits;
              for (const std::string& console : consoles) {
                const std::string port(console_port(console));
                const Service* login = writes_to(node, port) ? find_login(*logins, port) : nullptr;
                if (login == nullptr) continue;
                if (login->active_state != "active") return judge_login(verdict, *node.name, port, *login);
                waits = port;
              }
              if (waits.empty()) return verdict.not_applicable("the kernel writes to no serial port");
              verdict.pass("a login waits on " + waits);
            });
}

// GRUB's settings for a serial port: grub-mkconfig(8); `serial` in the GRUB manual.
struct SerialMenu {
  int unit = 0;
  int rate = 9600;
};

// Returns the last setting for the key; null if there is none. RHEL's grub2-mkconfig does not read the folder
// of settings.
const BootSetting* find_menu_setting(const NodeView& node, const std::vector<BootSetting>& settings,
                                     std::string_view key) {
  const bool reads_folder = package_tool(node) != PackageTool::kDnf;
  const BootSetting* last = nullptr;
  for (const BootSetting& setting : settings)
    if (setting.key == key && (reads_folder || setting.file == "/etc/default/grub")) last = &setting;
  return last;
}

// Returns the terminal setting in effect. GRUB_TERMINAL is short for GRUB_TERMINAL_INPUT and _OUTPUT, and
// overrides them.
const BootSetting* find_terminal(const NodeView& node, const std::vector<BootSetting>& settings) {
  const BootSetting* both = find_menu_setting(node, settings, "GRUB_TERMINAL");
  if (both != nullptr && !both->value.empty()) return both;
  const BootSetting* output = find_menu_setting(node, settings, "GRUB_TERMINAL_OUTPUT");
  return output != nullptr && !output->value.empty() ? output : nullptr;
}

bool is_shell(const BootSetting* setting) {
  return setting != nullptr && setting->value.find_first_of("$`") != std::string::npos;
}

// Parses "serial --speed=115200 --unit=1 …". Returns nullopt for a port that is named in another way, or
// settings in another form.
std::optional<SerialMenu> serial_menu(std::string_view command) {
  SerialMenu menu;
  for (std::string_view word : words(command)) {
    if (word == "serial") continue;
    if (!word.starts_with("--") || word.starts_with("--port")) return std::nullopt;
    int* number = word.starts_with("--unit=")    ? &menu.unit
                  : word.starts_with("--speed=") ? &menu.rate
                                                 : nullptr;
    if (number == nullptr) continue;
    const auto value = parse_number<int>(word.substr(word.find('=') + 1));
    if (!value) return std::nullopt;
    *number = *value;
  }
  return menu;
}

// Returns the menu that fits the console. GRUB numbers the four serial ports of a PC.
std::optional<SerialMenu> wanted_menu(const std::string& console) {
  const auto port = console_port(console);
  const auto rate = console_rate(console);
  if (!port.starts_with("ttyS") || !rate) return std::nullopt;
  const auto unit = parse_number<int>(port.substr(4));
  if (!unit || *unit > 3) return std::nullopt;
  return SerialMenu{*unit, *rate};
}

// Returns the commands that write the settings: to a file that is read after the others (Debian, Ubuntu), or
// at the end of the only file.
std::vector<ShellCommand> show_menu_with(const NodeView& node, const SerialMenu& menu) {
  const auto lines =
      command("printf '%s\\n' 'GRUB_TERMINAL=\"console serial\"' {}",
              fmt::format("GRUB_SERIAL_COMMAND=\"serial --unit={} --speed={} --word=8 --parity=no --stop=1\"",
                          menu.unit, menu.rate));
  return for_system(
      node,
      {"mkdir -p /etc/default/grub.d", command("{} | tee /etc/default/grub.d/99-serial-console.cfg", lines),
       "update-grub"},
      {command("{} | tee -a /etc/default/grub", lines), "grub2-mkconfig -o /boot/grub2/grub.cfg"});
}

void judge_menu(Case& verdict, const NodeView& node, const std::vector<BootSetting>& settings,
                const std::vector<SerialMenu>& wanted) {
  const BootSetting* terminal = find_terminal(node, settings);
  const BootSetting* command = find_menu_setting(node, settings, "GRUB_SERIAL_COMMAND");
  if (is_shell(terminal) || is_shell(command))
    return verdict.not_applicable("what GRUB is told cannot be told: a shell works it out");
  const auto red = [&](std::string message, std::string observed) {
    verdict.warn(
        {.message = std::move(message),
         .expected = fmt::format("serial, unit {}, {} bit/s", wanted.back().unit, wanted.back().rate),
         .observed = std::move(observed),
         .remedy = {"Have GRUB use the port that the kernel uses, at its rate.",
                    show_menu_with(node, wanted.back()), true}});
  };
  // GRUB's default is graphics (gfxterm), which no firmware sends to a serial port.
  const auto terminals = words(terminal == nullptr ? std::string_view("gfxterm") : terminal->value);
  const auto is_serial = [](std::string_view each) { return each.starts_with("serial"); };
  if (std::ranges::none_of(terminals, is_serial)) {
    if (std::ranges::any_of(terminals, [](std::string_view each) { return each != "gfxterm"; }))
      return verdict.not_applicable(
          "GRUB uses the firmware's console: it is on the serial port where the BIOS redirects that");
    return red(fmt::format("the serial console of {} is blank from power-on until the kernel starts: GRUB "
                           "draws its menu on the screen alone",
                           *node.name),
               terminal == nullptr ? "no GRUB_TERMINAL" : terminal->value);
  }
  const auto menu = serial_menu(command == nullptr ? "" : command->value);
  if (!menu) return verdict.not_applicable("GRUB is given its port in another way than by number");
  const auto at_unit = std::ranges::find(wanted, menu->unit, &SerialMenu::unit);
  const std::string told = fmt::format("serial, unit {}, {} bit/s", menu->unit, menu->rate);
  if (at_unit == wanted.end())
    return red(fmt::format("the serial console of {} is blank from power-on until the kernel starts: GRUB "
                           "writes to ttyS{}, the kernel to ttyS{}",
                           *node.name, menu->unit, wanted.back().unit),
               told);
  if (at_unit->rate != menu->rate)
    return red(fmt::format("the serial console of {} shows garbage in the boot menu, or in what the kernel "
                           "says: GRUB writes at {} bit/s, the kernel at {}",
                           *node.name, menu->rate, at_unit->rate),
               told);
  verdict.pass(told);
}

void boot_menu(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "boot menu on the serial port", Things{"serial-console"},
            [](Case& verdict, const NodeView& node) {
              const auto consoles = meant_consoles(verdict, node);
              if (consoles.empty()) return;
              const auto* settings = verdict.read_if_there(
                  node.facts->system.console.boot_menu,
                  "where GRUB draws its menu cannot be told: no /etc/default/grub was recorded or is there");
              if (settings == nullptr) return;
              std::vector<SerialMenu> wanted;
              for (const std::string& console : consoles)
                if (const auto menu = wanted_menu(console); menu && writes_to(node, console_port(console)))
                  wanted.push_back(*menu);
              if (wanted.empty())
                return verdict.not_applicable("GRUB reaches this port by the firmware's own console");
              judge_menu(verdict, node, *settings, wanted);
            });
}

// Returns true for graphics whose image a BMC sends: ASPEED, Matrox G200 (HPE iLO, Dell iDRAC, Nuvoton,
// Pilot), Huawei Hi1710. Source: pci.ids
bool is_of_bmc(const Display& display) {
  constexpr std::uint16_t kAspeed = 0x1a03;
  constexpr std::uint16_t kMatrox = 0x102b;
  constexpr std::uint16_t kHuawei = 0x19e5;
  if (!display.vendor) return false;
  return *display.vendor == kAspeed || *display.vendor == kMatrox || *display.vendor == kHuawei;
}

std::string called(const Display& display) {
  static const std::map<std::uint16_t, std::string_view> kMakers = {
      {std::uint16_t{0x1a03}, "ASPEED"}, {std::uint16_t{0x102b}, "Matrox"}, {std::uint16_t{0x19e5}, "Huawei"},
      {std::uint16_t{0x10de}, "NVIDIA"}, {std::uint16_t{0x1002}, "AMD"},    {std::uint16_t{0x8086}, "Intel"}};
  const auto maker = kMakers.find(display.vendor.value_or(std::uint16_t{0}));
  return maker == kMakers.end() ? display.address : fmt::format("{} {}", maker->second, display.address);
}

void screen(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "screen", Things{"screen"}, [&](Case& verdict, const NodeView& node) {
    const bool has_bmc =
        (node.wanted != nullptr && node.wanted->bmc) || survey.evidence.bmcs.contains(*node.name);
    if (!has_bmc) return verdict.not_applicable("no BMC is named for it");
    const auto* displays = verdict.read_if_there(node.facts->system.console.displays, "no PCI");
    if (displays == nullptr) return;
    const auto drawn =
        std::ranges::find_if(*displays, [](const Display& each) { return each.boot_vga.value_or(false); });
    if (drawn == displays->end())
      return verdict.not_applicable("which graphics the firmware draws on cannot be told");
    verdict.seen(drawn->boot_vga);
    if (is_of_bmc(*drawn)) return verdict.pass("the firmware draws on the BMC's graphics, " + drawn->address);
    const auto own = std::ranges::find_if(*displays, is_of_bmc);
    const bool switched_off = own == displays->end();
    if (switched_off && drawn->vendor.value_or(std::uint16_t{0}) != kVendorNvidia)
      return verdict.not_applicable("no graphics of a BMC is there");
    const std::string why = switched_off
                                ? "the board's own graphics are not there: the BIOS switched them off"
                                : "the BMC sends the picture of " + called(*own);
    verdict.warn(
        {.message = fmt::format("the BMC of {} shows a black screen (KVM): the firmware draws on {}, and {}",
                                *node.name, called(*drawn), why),
         .expected = switched_off ? "the board's own graphics" : called(*own),
         .observed = called(*drawn),
         .remedy = {"Have the BIOS draw on the board's own graphics: \"primary display\" or \"VGA "
                    "priority\" is \"onboard\", in \"PCI\" or \"chipset\" settings. GPUs compute as "
                    "before; a monitor at one of them stays black until the system has started. The "
                    "serial console needs no screen.",
                    {"lspci -nn -d ::0300"},
                    true}});
  });
}

}  // namespace

std::span<const Rule> console_rules() {
  static const Rule kRules[] = {
      {.id = "host.serial-port",
       .title = "serial port of the console is there",
       .why =
           "A kernel that is told to write to a port that is not there says nothing of it: the console over "
           "the network is blank from the moment the kernel starts.",
       .source = "/proc/cmdline, /sys/class/tty/console/active, /sys/class/tty/ttyS*/type",
       .standard = "of the serial ports on the kernel's command line one is in use; where none is named, "
                   "nothing is judged",
       .remedy = "Name the port that is there: mostly ttyS1 or ttyS0.",
       .fixture = "v100-serial-port",
       .explained_by = {},
       .check = serial_port},
      {.id = "host.serial-login",
       .title = "login waits on the serial console",
       .why =
           "Nobody can log in and repair anything on a console that shows the kernel's text and no prompt.",
       .source = "systemctl show serial-getty@PORT",
       .standard = "active on the serial ports that the kernel writes to, where systemd starts it by itself",
       .remedy = "systemctl enable --now serial-getty@ttyS1",
       .fixture = "v100-serial-login",
       .explained_by = {},
       .check = serial_login},
      {.id = "host.serial-boot-menu",
       .title = "boot menu is on the serial console",
       .why = "A machine whose new kernel does not start is brought back from the boot menu, which must then "
              "be seen.",
       .source = "GRUB_TERMINAL and GRUB_SERIAL_COMMAND of /etc/default/grub and /etc/default/grub.d",
       .standard = "the kernel's serial port and rate; where the kernel names no port, or GRUB uses the "
                   "firmware's console, nothing is judged",
       .remedy =
           "Set GRUB_TERMINAL=\"console serial\" and GRUB_SERIAL_COMMAND, then run update-grub or grub2-mkconfig.",
       .fixture = "v100-serial-boot-menu",
       .explained_by = {},
       .check = boot_menu},
      {.id = "host.screen",
       .title = "BMC sends the screen that the firmware draws on",
       .why =
           "With a GPU as the screen the BMC's graphical console (KVM) is black, and nobody notices before it "
           "is needed.",
       .source = "boot_vga of graphics controllers in /sys/bus/pci/devices",
       .standard = "the graphics of the BMC (ASPEED, Matrox, Huawei), on nodes for which a BMC is named",
       .remedy = "Make the onboard graphics the primary display in the BIOS, or use the serial console.",
       .fixture = "v100-screen",
       .explained_by = {},
       .check = screen},
  };
  return kRules;
}

}  // namespace railbed

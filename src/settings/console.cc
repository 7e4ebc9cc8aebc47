// The serial console: kernel, boot menu and a login on the port that the BMC forwards over the network.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/log/kernel_console.h"
#include "settings/files.h"
#include "settings/render.h"
#include "settings/serial_console.h"

namespace railbed {
namespace {

// Returns the running kernel's console= argument for the port; nullopt if there is none.
std::optional<std::string> console_now(std::string_view command_line, std::string_view port) {
  for (std::string& console : serial_consoles(command_line))
    if (console_port(console) == port) return std::move(console);
  return std::nullopt;
}

// An argument of this boot is expected at the next one, too. An argument that is missing now may have been
// configured since.
Need kernel_writes(const Target& target, const SerialConsole& console) {
  Need need{.what = fmt::format("the kernel writes to {} at {} bit/s", console.port, console.rate)};
  const auto& line = target.facts().system.kernel.command_line;
  if (!target.looked() || !line.ok()) return need;
  const auto found = console_now(*line, console.port);
  if (!found) {
    need.now = false;
    need.found = fmt::format("its command line has no console={}", console.port);
    return need;
  }
  const auto rate = console_rate(*found);
  if (!rate) return need;
  need.now = *rate == console.rate;
  if (*need.now) need.at_boot = true;
  if (!*need.now) need.found = "console=" + *found;
  return need;
}

void add_kernel(const Target& target, const SerialConsole& console, std::vector<Setting>& settings) {
  Setting setting{
      .section = Section::kConsole,
      .name = "console/kernel",
      .title = fmt::format("kernel and boot menu on {}", console.kernel_text()),
      .reason =
          "a node whose network is gone is still reached through its BMC's serial-over-LAN, from the boot "
          "menu on; with GPUs in it the BMC's picture of the screen is often black",
      .reboot = true,
      .needs = {kernel_writes(target, console)}};
  if (target.platform.family == OsFamily::kDebian) {
    setting.files = {{.path = kGrubConsoleFile, .content = std::string(kFileMark) + grub_settings(console)}};
    setting.steps = {{StepKind::kUpdateGrub, {}}};
  } else {
    setting.steps = {{StepKind::kSetKernelArguments, kernel_arguments(console)}};
    setting.notes.push_back(
        "The boot menu itself stays where /etc/default/grub puts it: RHEL's grub2-mkconfig "
        "reads no folder of settings beside that file.");
    setting.notes.push_back(
        "Until the node reboots, nothing shows that grubby has run, and the plan has this change again: it "
        "does no harm twice.");
  }
  if (setting.needs[0].now == false)
    setting.notes.push_back(fmt::format(
        "systemd starts a login on {} at the boot from which the kernel writes there, and not before.",
        console.port));
  setting.notes.push_back(fmt::format(
      "The BMC's own serial-over-LAN has to have the same rate, {} bit/s; at another one it shows nothing, or "
      "garbage. `ipmitool sol info` tells.",
      console.rate));
  if (setting.needs[0].found.starts_with("console="))
    setting.notes.push_back(fmt::format(
        "Take {} out of where the kernel's command line is kept, /etc/default/grub and its kin: of a port that "
        "is named twice the kernel keeps the first rate.",
        setting.needs[0].found));
  settings.push_back(std::move(setting));
}

// Rates that serial-getty@.service tries; any other rate has to be configured.
constexpr int kGettyRates[] = {115200, 57600, 38400, 9600};

// A drop-in for systemd's unit with another rate. The empty ExecStart removes the unit's own command.
DesiredFile getty_rate(const SerialConsole& console) {
  return {.path = fmt::format("/etc/systemd/system/serial-getty@{}.service.d/90-railbed.conf", console.port),
          .content = fmt::format("{}[Service]\n"
                                 "ExecStart=\n"
                                 "ExecStart=-/sbin/agetty -o '-p -- \\\\u' --keep-baud {} - $TERM\n",
                                 kFileMark, console.rate)};
}

// systemd-getty-generator(8) starts a login on each serial port that the kernel writes to. While the kernel does not write
// there, nothing shows whether one waits, and the kernel's setting brings it: only a rate of its own is left to set.
void add_login(const Target& target, const SerialConsole& console, std::vector<Setting>& settings) {
  const std::string unit = fmt::format("serial-getty@{}.service", console.port);
  Need need{.what = fmt::format("a login waits on {}", console.port)};
  const Need kernel = kernel_writes(target, console);
  if (kernel.now == true) need.now = need.at_boot = true;
  const bool usual_rate = std::ranges::find(kGettyRates, console.rate) != std::end(kGettyRates);
  if (kernel.now == false && usual_rate) return;
  Setting setting{.section = Section::kConsole,
                  .name = "console/login",
                  .title = fmt::format("login on {}", console.port),
                  .reason = "a console that only shows messages repairs nothing",
                  .needs = {std::move(need)}};
  if (!usual_rate) {
    setting.files = {getty_rate(console)};
    setting.steps = {{StepKind::kReloadUnits, {}}};
  }
  setting.steps.push_back({StepKind::kEnableUnit, {unit}});
  if (!target.configure().user || !target.configure().authorized_keys)
    setting.notes.push_back("Somebody needs a password to log in there; keys do not help on a console.");
  else
    setting.notes.push_back(fmt::format(
        "A login there asks for a password, which keys do not replace: set one for {} where the console shall "
        "be of use.",
        *target.configure().user));
  settings.push_back(std::move(setting));
}

}  // namespace

void render_console(const Target& target, std::vector<Setting>& settings) {
  const auto console = serial_console(target.configure());
  if (!console) return;
  add_kernel(target, *console, settings);
  add_login(target, *console, settings);
}

}  // namespace railbed

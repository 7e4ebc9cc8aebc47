// The processors' frequency governor. A tmpfiles.d line sets it: once early at boot, and again by a unit that
// starts after other programs that set governors, since the driver may be a module that udev loads later.
#include <fmt/format.h>

#include <algorithm>

#include "model/survey.h"
#include "settings/files.h"
#include "settings/render.h"

namespace railbed {
namespace {

constexpr const char* kGovernorLinesPath = "/etc/tmpfiles.d/railbed-governor.conf";
constexpr const char* kGovernorUnitPath = "/etc/systemd/system/railbed-governor.service";

// tmpfiles.d(5): "w" writes to an existing file and accepts patterns.
std::string governor_line(const std::string& governor) {
  return fmt::format("{}w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - {}\n", kFileMark,
                     governor);
}

std::string governor_unit() {
  return fmt::format(
      "{}[Unit]\n"
      "Description=Frequency governor of the processors\n"
      "After=tuned.service cpufrequtils.service cpupower.service power-profiles-daemon.service\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "ExecStart=systemd-tmpfiles --create {}\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kFileMark, kGovernorLinesPath);
}

// Returns whether the next boot sets the governor. The present value was set in this boot; the next one is
// only known if a service that sets governors is enabled, or the kernel's command line does it.
std::optional<bool> governor_at_boot(const Target& target, const std::string& wanted) {
  if (is_enabled_unit(target.view, "tuned") || is_enabled_unit(target.view, "cpupower") ||
      is_enabled_unit(target.view, "cpufrequtils"))
    return true;
  const std::string line = target.facts().system.kernel.command_line.value_or("");
  if (line.find("cpufreq.default_governor=" + wanted) != std::string::npos) return true;
  return std::nullopt;
}

// Returns the governor that host.governor of verify expects; nullopt if none.
std::optional<std::string> wanted_governor(const Target& target) {
  if (target.node().expect.governor) return target.node().expect.governor;
  const bool scales = target.facts().system.cpu.governors.ok();
  return scales && target.view.has_accelerators() ? std::optional<std::string>("performance") : std::nullopt;
}

Need governor_need(const Target& target, const std::string& wanted) {
  Need need{.what = fmt::format("every processor has governor {}", wanted)};
  const auto& governors = target.facts().system.cpu.governors;
  if (!governors.ok()) return need;
  const auto other = std::ranges::find_if(*governors, [&](const auto& one) { return one.first != wanted; });
  need.now = other == governors->end();
  if (*need.now)
    need.at_boot = governor_at_boot(target, wanted);
  else
    need.found = other->first;
  return need;
}

}  // namespace

void render_governor(const Target& target, std::vector<Setting>& settings) {
  const auto wanted = wanted_governor(target);
  if (!wanted) return;
  // A virtual machine, or firmware that scales by itself, has no such file.
  if (target.looked() && target.facts().system.cpu.governors.absent()) return;
  Setting setting{
      .section = Section::kGovernor,
      .name = "governor/performance",
      .title = fmt::format("frequency governor {}", *wanted),
      .reason =
          "a saving governor lowers the clock between messages, and latency rises; written by hand it "
          "is gone after a reboot",
      .asked = target.node().expect.governor.has_value(),
      .needs = {governor_need(target, *wanted)},
      .files = {{.path = kGovernorLinesPath, .content = governor_line(*wanted)},
                {.path = kGovernorUnitPath, .content = governor_unit()}},
      .steps = {{StepKind::kReloadUnits, {}},
                {StepKind::kEnableUnit, {"railbed-governor.service"}},
                {StepKind::kRestartUnit, {"railbed-governor.service"}}}};
  if (is_enabled_unit(target.view, "tuned"))
    setting.notes.push_back(
        "tuned sets the governor too, whenever its profile is applied: choose one that agrees "
        "(`tuned-adm profile throughput-performance`).");
  settings.push_back(std::move(setting));
}

}  // namespace railbed

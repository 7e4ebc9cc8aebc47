// Services that verify expects to run, or not to run, on every node of this kind. No file is written, and
// cluster.yaml does not have to request it. A service that runs and does not help is not a matter of
// settings: verify reports it.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "model/container_gpus.h"
#include "model/survey.h"
#include "settings/container_engines.h"
#include "settings/files.h"
#include "settings/render.h"

namespace railbed {
namespace {

bool runs(const Service& service) { return service.active_state == "active"; }
bool is_enabled(const Service& service) { return service.unit_file_state == "enabled"; }

// Returns nullopt for "static" units and similar ones: another unit starts them.
std::optional<bool> enabled_at_boot(const Service& service) {
  if (is_enabled(service)) return true;
  return service.unit_file_state == "disabled" ? std::optional<bool>(false) : std::nullopt;
}

Need runs_need(const Service& service) {
  Need need{.what = fmt::format("{} runs", service.name),
            .now = runs(service),
            .at_boot = enabled_at_boot(service)};
  if (!*need.now)
    need.found = service.active_state;
  else if (need.at_boot == false)
    need.found = "no boot starts it";
  return need;
}

Setting running(std::string name, const Service& service, std::string reason) {
  return {.section = Section::kServices,
          .name = std::move(name),
          .title = fmt::format("{} runs", service.name),
          .reason = std::move(reason),
          .asked = false,
          .needs = {runs_need(service)},
          .steps = {{StepKind::kEnableUnit, {service.name + ".service"}}}};
}

const Service* loaded(const Target& target, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Service* service = find_service(target.view, {name});
    if (service != nullptr && service->load_state == "loaded") return service;
  }
  return nullptr;
}

// Returns the time service; if several are installed, the one that runs.
const Service* time_service(const Target& target) {
  const std::initializer_list<std::string_view> names = {"chrony", "chronyd", "ntpsec", "systemd-timesyncd"};
  for (const std::string_view name : names) {
    const Service* service = loaded(target, {name});
    if (service != nullptr && runs(*service)) return service;
  }
  return loaded(target, names);
}

void add_time(const Target& target, std::vector<Setting>& settings) {
  const Service* service = time_service(target);
  // Another program already keeps the time: a host, another daemon.
  if (service == nullptr ||
      (!runs(*service) && target.facts().system.kernel.clock_synchronised.value_or(false)))
    return;
  settings.push_back(
      running("services/time", *service,
              "logs of several nodes are laid side by side, and certificates are checked, by the clock"));
}

void add_persistence(const Target& target, std::vector<Setting>& settings) {
  const Service* service = loaded(target, {"nvidia-persistenced"});
  if (service == nullptr || target.view.gpus().empty()) return;
  settings.push_back(
      running("services/persistence", *service,
              "without it the driver shuts a GPU down between two jobs: each waits for it, and settings "
              "and error counts are lost"));
}

// Skips a manager whose version differs from the driver's: it would fail to start, and roll the whole change
// back.
void add_fabric_manager(const Target& target, std::vector<Setting>& settings) {
  const Service* service = loaded(target, {"nvidia-fabricmanager"});
  const Gpus& gpus = target.facts().gpus;
  if (service == nullptr || !target.view.has_nvswitch() || !gpus.fabric_manager.ok() ||
      !gpus.driver_version.ok() || *gpus.fabric_manager != *gpus.driver_version)
    return;
  settings.push_back(running("services/fabric-manager", *service,
                             "CUDA does not start on GPUs behind NVSwitch until it runs"));
}

void add_upgrades(const Target& target, std::vector<Setting>& settings) {
  const Service* service = loaded(target, {"unattended-upgrades"});
  if (service == nullptr || target.view.gpus().empty()) return;
  Need need{
      .what = "the node does not upgrade itself", .now = !runs(*service), .at_boot = !is_enabled(*service)};
  if (!*need.now || !*need.at_boot) need.found = "unattended-upgrades is on";
  settings.push_back(
      {.section = Section::kServices,
       .name = "services/upgrades",
       .title = "no upgrade of this node alone",
       .reason =
           "a new kernel at night leaves a node without its GPU driver in the morning, or unlike others",
       .asked = false,
       .needs = {std::move(need)},
       .steps = {{StepKind::kDisableUnit, {"apt-daily-upgrade.timer", "unattended-upgrades.service"}}},
       .notes = {"Security updates come by hand from now on: upgrade all nodes together."}});
}

// earlyoom(1): -m PERCENT[,KILL_PERCENT] of memory that is available, and -s 100 makes the swap space irrelevant. It
// looks ten times a second when memory is short. Its package's own arguments are in /etc/default/earlyoom.
void add_memory_guard(const Target& target, std::vector<Setting>& settings) {
  if (!target.configure().memory_guard.value_or(false)) return;
  const auto& guards = target.facts().system.memory_guards;
  Need need{.what = "earlyoom or nohang runs"};
  if (guards.ok()) {
    need.now = has_memory_guard(*guards);
    if (!*need.now) need.found = "neither does";
  }
  Setting setting{
      .section = Section::kServices,
      .name = "services/memory-guard",
      .title = "earlyoom ends a process before memory is used up",
      .reason =
          "where GPU and processor share their memory, the kernel finds too late that it is used up: the machine "
          "stands still until it is switched off",
      .needs = {std::move(need)},
      .files =
          {{.path = "/etc/systemd/system/earlyoom.service.d/90-railbed.conf",
            .content =
                std::string(kFileMark) +
                "[Service]\n"
                "ExecStart=\n"
                "ExecStart=/usr/bin/earlyoom -r 3600 -m 8,4 -s 100,100 --avoid "
                "'^(sshd|systemd|systemd-.*|dbus-daemon|NetworkManager|containerd|dockerd|slurmd|opensm)$$'\n"}},
      .steps = {{StepKind::kRefreshPackages, {}},
                {StepKind::kInstallPackages, {"earlyoom"}},
                {StepKind::kReloadUnits, {}},
                {StepKind::kEnableUnit, {"earlyoom.service"}},
                {StepKind::kRestartUnit, {"earlyoom.service"}}},
      .notes = {
          "With 8 % of the memory left it ends the process with the highest oom_score, with 4 % at once. Memory that "
          "the driver holds counts for no process: keep large programs below that by their own settings, too."}};
  if (target.platform.family == OsFamily::kRhel) setting.notes.push_back("earlyoom is in EPEL.");
  settings.push_back(std::move(setting));
}

}  // namespace

void render_services(const Target& target, std::vector<Setting>& settings) {
  if (!target.view.has_accelerators()) return;
  add_time(target, settings);
  add_persistence(target, settings);
  add_fabric_manager(target, settings);
  add_upgrades(target, settings);
  add_container_engines(target, settings);
  add_memory_guard(target, settings);
}

}  // namespace railbed

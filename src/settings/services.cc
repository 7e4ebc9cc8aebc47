// Services that verify expects to run, or not to run, on every node of this kind. No file is written, and
// cluster.yaml does not have to request it. A service that runs and does not help is not a matter of
// settings: verify reports it.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "model/survey.h"
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

// Returns the engine that starts the containers of cluster.yaml.
std::string_view engine_of(const Target& target) {
  const auto& said = target.node().expect.container_runtime;
  return said == "podman" ? "podman" : "docker";
}

// Returns true if container engines are known to have NVIDIA's toolkit to work with. Without it
// packages/container-toolkit comes first.
bool has_toolkit(const Target& target) { return target.facts().system.engines.toolkit.value_or(false); }

// `nvidia-ctk runtime configure --runtime=docker` writes the same member. dockerd reads the file when it starts.
void add_docker_runtime(const Target& target, std::vector<Setting>& settings) {
  const Service* docker = loaded(target, {"docker"});
  if (!target.node().expect.container || engine_of(target) != "docker" || docker == nullptr ||
      target.view.gpus().empty() || !has_toolkit(target))
    return;
  const auto& runtimes = target.facts().system.engines.docker_runtimes;
  Need need{.what = "docker knows the runtime nvidia"};
  if (runtimes.ok() || runtimes.absent()) {
    need.now = runtimes.ok() && std::ranges::find(*runtimes, "nvidia") != runtimes->end();
    need.at_boot = need.now;
    if (!*need.now) need.found = "it does not";
  }
  settings.push_back(
      {.section = Section::kServices,
       .name = "services/docker-gpus",
       .title = "docker hands out GPUs by NVIDIA's runtime",
       .reason = "--runtime=nvidia and compose files that name it fail without it",
       .risk = Risk::kService,
       .needs = {std::move(need)},
       .files = {{.path = "/etc/docker/daemon.json",
                  .content = R"({"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})"
                             "\n",
                  .block = true,
                  .json = true}},
       .steps = {{StepKind::kRestartUnit, {"docker.service"}}},
       .notes = {
           "docker's restart ends containers that run, unless daemon.json has live-restore: do it when no job "
           "runs. Every other member of daemon.json stays."}});
}

// The spec that an engine uses: one in /run replaces devices of the same names in /etc (SPEC.md of the Container Device Interface).
const CdiSpec* used_spec(const std::vector<CdiSpec>& specs) {
  const CdiSpec* used = nullptr;
  for (const CdiSpec& spec : specs)
    if (used == nullptr || spec.file.starts_with("/run/")) used = &spec;
  return used;
}

// A description of the GPUs names the files of one driver. Versions of the toolkit from 1.18 on make it at each boot and
// after each driver; before, a unit of railbed's does so at each boot.
void add_cdi(const Target& target, std::vector<Setting>& settings) {
  const ContainerEngines& engines = target.facts().system.engines;
  const auto& driver = target.facts().gpus.driver_version;
  if (target.view.gpus().empty() || !has_toolkit(target) || !driver.ok()) return;
  const bool asked = target.node().expect.container && engine_of(target) == "podman";
  const std::vector<CdiSpec> specs = engines.cdi.value_or({});
  const CdiSpec* spec = used_spec(specs);
  if (!asked && spec == nullptr) return;
  Need need{.what = "CDI describes the GPUs with driver " + printable(*driver)};
  if (engines.cdi.ok() || engines.cdi.absent()) {
    need.now = spec != nullptr && is_current(*spec, *driver);
    if (!*need.now)
      need.found =
          spec == nullptr ? "no description" : fmt::format("{} is of another one", printable(spec->file));
  }
  if (engines.cdi_refresh.value_or(false)) need.at_boot = true;
  Setting setting{
      .section = Section::kServices,
      .name = "services/cdi",
      .title = "CDI's description of the GPUs, anew at each boot",
      .reason =
          "podman, and docker with --device nvidia.com/gpu=all, mount the files that it names: after "
          "another driver they are gone, and no container with a GPU starts",
      .asked = asked,
      .needs = {std::move(need)}};
  for (const CdiSpec& one : specs)
    if (one.file.starts_with("/etc/cdi/") && !is_current(one, *driver))
      setting.contradictions.push_back({one.file, "it names files of another driver"});
  if (engines.cdi_refresh.value_or(false)) {
    setting.steps = {{StepKind::kEnableUnit, {"nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service"}}};
  } else {
    setting.files = {{.path = "/etc/systemd/system/railbed-cdi.service",
                      .content = std::string(kFileMark) +
                                 "[Unit]\n"
                                 "Description=CDI description of NVIDIA's GPUs\n"
                                 "After=nvidia-persistenced.service\n"
                                 "Before=docker.service podman.service kubelet.service slurmd.service\n"
                                 "[Service]\n"
                                 "Type=oneshot\n"
                                 "ExecStart=/usr/bin/nvidia-ctk cdi generate --output=/run/cdi/nvidia.yaml\n"
                                 "[Install]\n"
                                 "WantedBy=multi-user.target\n"}};
    setting.steps = {{StepKind::kReloadUnits, {}}, {StepKind::kEnableUnit, {"railbed-cdi.service"}}};
  }
  settings.push_back(std::move(setting));
}

// earlyoom(1): -m PERCENT[,KILL_PERCENT] of memory that is available, and -s 100 makes the swap space irrelevant. It
// looks ten times a second when memory is short. Its package's own arguments are in /etc/default/earlyoom.
void add_memory_guard(const Target& target, std::vector<Setting>& settings) {
  if (!target.configure().memory_guard.value_or(false)) return;
  const auto& guards = target.facts().system.memory_guards;
  Need need{.what = "earlyoom runs"};
  if (guards.ok()) {
    need.now = std::ranges::find(*guards, "earlyoom") != guards->end();
    if (!*need.now) need.found = "it does not";
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
  add_docker_runtime(target, settings);
  add_cdi(target, settings);
  add_memory_guard(target, settings);
}

}  // namespace railbed

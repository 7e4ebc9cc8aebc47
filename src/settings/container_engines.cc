#include "settings/container_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "facts/software/engine_files.h"
#include "model/container_gpus.h"
#include "settings/files.h"

namespace railbed {
namespace {

constexpr std::string_view kRuntimeProgram = "/usr/bin/nvidia-container-runtime";

// Returns true if container engines are known to have NVIDIA's toolkit to work with. Without it
// packages/container-toolkit comes first.
bool has_toolkit(const Target& target) { return target.facts().system.engines.toolkit.value_or(false); }

Need runtime_need(const EngineGpus& engine, std::string_view name) {
  Need need{.what = fmt::format("{} knows the runtime nvidia", name),
            .now = engine.runtime,
            .at_boot = engine.runtime};
  if (engine.runtime == false) need.found = "it does not";
  return need;
}

Setting runtime_setting(const EngineGpus& engine, std::string_view name) {
  return {.section = Section::kServices,
          .name = fmt::format("services/{}-gpus", engine.engine),
          .subjects = {std::string(engine.engine)},
          .title = fmt::format("{} hands out GPUs by NVIDIA's runtime", name),
          .risk = Risk::kService,
          .asked = engine.asked,
          .needs = {runtime_need(engine, name)},
          .steps = {{StepKind::kRestartUnit, {fmt::format("{}.service", engine.engine)}}}};
}

// `nvidia-ctk runtime configure --runtime=docker` writes the same member. dockerd reads the file when it starts.
Setting docker_runtime(const EngineGpus& engine) {
  Setting setting = runtime_setting(engine, "docker");
  setting.reason = "--runtime=nvidia and compose files that name it fail without it";
  setting.files = {{.path = "/etc/docker/daemon.json",
                    .content = R"({"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})"
                               "\n",
                    .block = true,
                    .json = true}};
  setting.notes = {
      "docker's restart ends containers that run, unless daemon.json has live-restore: do it when no job "
      "runs. Every other member of daemon.json stays."};
  return setting;
}

bool is_bare_key(std::string_view key) {
  return !key.empty() && key.size() <= 64 &&
         key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string_view::npos;
}

// Returns the settings of a table, in lines: those of `base` under this prefix, then `own`, which count for more.
std::string table_lines(const EngineRuntime* base, std::string_view prefix,
                        const std::map<std::string, std::string>& own) {
  std::map<std::string, std::string> all = own;
  if (base != nullptr)
    for (const auto& [name, kept] : base->settings) {
      const std::string_view key = name;
      if (!key.starts_with(prefix) || !is_bare_key(key.substr(prefix.size()))) continue;
      // A node's facts may hold anything.
      const auto value = json::parse(kept);
      if (auto text = value ? toml_value(*value) : std::nullopt)
        all.emplace(key.substr(prefix.size()), *std::move(text));
    }
  std::string lines;
  for (const auto& [key, value] : all) lines += fmt::format("{} = {}\n", key, value);
  return lines;
}

// Returns the setting as one whose files railbed does not understand, so that it waits for a person.
Setting left_to_a_person(Setting setting, const Reading<EngineFiles>& read) {
  setting.steps.clear();
  setting.doubt =
      fmt::format("{} could not be read ({})", printable(read.from()), printable(read.miss().why));
  return setting;
}

// `nvidia-ctk runtime configure --runtime=containerd` makes the same runtime, with the options of the low-level one, such as
// SystemdCgroup. Since 1.18 it writes a file of its own and an import; up to containerd 2.1 an imported file replaces all
// settings of the plugin that the main file has, so the tables go to the main file here.
Setting containerd_runtime(const Target& target, const EngineGpus& engine) {
  Setting setting = runtime_setting(engine, "containerd");
  setting.reason = "pods whose RuntimeClass has the handler nvidia get no GPU without it";
  const auto& read = target.facts().system.engines.containerd;
  if (!read.ok() && !read.absent()) return left_to_a_person(std::move(setting), read);
  EngineFiles files = read.value_or({});
  files.blank = files.blank || !read.ok();
  const ContainerdHold hold = containerd_hold(files);
  if (hold == ContainerdHold::kVersion) {
    setting.steps.clear();
    setting.doubt =
        "/etc/containerd/config.toml is of no version from 2 on: bring it to one (`containerd config migrate`)";
    return setting;
  }
  const int version = files.version == 3 ? 3 : 2;
  const std::string table =
      fmt::format("plugins.\"{}\".containerd.runtimes.nvidia", containerd_plugin(version));
  const EngineRuntime* const base = low_level_runtime(files);
  std::map<std::string, std::string> own;
  if (base == nullptr || !base->settings.contains("runtime_type"))
    own["runtime_type"] = "\"io.containerd.runc.v2\"";
  std::string content = files.blank && files.version == 0 ? fmt::format("version = {}\n", version) : "";
  content += fmt::format("\n# railbed: pods get GPUs by the handler nvidia\n[{}]\n", table);
  content += table_lines(base, "", own);
  content += fmt::format("\n[{}.options]\n", table);
  content += table_lines(base, "options.", {{"BinaryName", fmt::format("\"{}\"", kRuntimeProgram)}});
  setting.files = {
      {.path = "/etc/containerd/config.toml", .content = std::move(content), .block = true, .toml = true}};
  setting.notes = {
      "A pod gets GPUs by it if its RuntimeClass has the handler nvidia. Containers survive containerd's restart. "
      "Every other setting of config.toml stays."};
  if (hold == ContainerdHold::kCriOff)
    setting.doubt =
        "/etc/containerd/config.toml switches the plugin cri off, which serves Kubernetes: look at it";
  else if (hold == ContainerdHold::kOverridden)
    setting.doubt = fmt::format(
        "{} has settings of the same plugin, and up to containerd 2.1 they replace those of config.toml: look at it",
        printable(files.overriding.back()));
  return setting;
}

// A runtime needs the path of conmon where conmon is not in PATH, as in the packages of pkgs.k8s.io: without it CRI-O does not
// start. So its settings are those of the low-level runtime, as in `nvidia-ctk runtime configure --runtime=crio`.
Setting crio_runtime(const Target& target, const EngineGpus& engine) {
  Setting setting = runtime_setting(engine, "crio");
  setting.reason = "pods whose RuntimeClass has the handler nvidia get no GPU without it";
  const auto& read = target.facts().system.engines.crio;
  if (!read.ok() && !read.absent()) return left_to_a_person(std::move(setting), read);
  const EngineFiles files = read.value_or({});
  const EngineRuntime* const base = low_level_runtime(files);
  setting.files = {{.path = "/etc/crio/crio.conf.d/99-railbed-nvidia.conf",
                    .content = std::string(kFileMark) + "[crio.runtime.runtimes.nvidia]\n" +
                               table_lines(base, "",
                                           {{"runtime_path", fmt::format("\"{}\"", kRuntimeProgram)},
                                            {"runtime_type", "\"oci\""}})}};
  setting.notes = {
      "A pod gets GPUs by it if its RuntimeClass has the handler nvidia. Containers survive CRI-O's restart."};
  if (base != nullptr && !base->program.empty() && !base->program.starts_with("/usr/bin/") &&
      !base->program.starts_with("/usr/sbin/"))
    setting.notes.push_back(fmt::format(
        "NVIDIA's runtime looks for runc and crun in PATH, and here it is {}: if it is not there, name it in "
        "`runtimes` of /etc/nvidia-container-runtime/config.toml.",
        printable(base->program)));
  return setting;
}

// A description of the GPUs names the files of one driver. Versions of the toolkit from 1.18 on make it at each boot and
// after each driver; before, a unit of railbed's does so at each boot.
void add_cdi(const Target& target, std::vector<Setting>& settings) {
  const ContainerEngines& engines = target.facts().system.engines;
  const Gpus& gpus = target.facts().gpus;
  if (target.view.gpus().empty() || !has_toolkit(target) || !gpus.driver_version.ok()) return;
  const bool asked = asks_for_podman(target.view);
  const std::vector<CdiSpec> specs = engines.cdi.value_or({});
  if (!asked && specs.empty()) return;
  Need need{.what = "CDI describes the GPUs with driver " + printable(*gpus.driver_version)};
  if (engines.cdi.ok() || engines.cdi.absent()) {
    need.found = specs.empty() ? "no description" : cdi_fault(specs, gpus);
    need.now = need.found.empty();
  }
  if (engines.cdi_refresh.value_or(false)) need.at_boot = true;
  Setting setting{
      .section = Section::kServices,
      .name = "services/cdi",
      .subjects = {"CDI"},
      .title = "CDI's description of the GPUs, anew at each boot",
      .reason =
          "podman, and docker with --device nvidia.com/gpu=all, mount the files that it names: after "
          "another driver they are gone, and no container with a GPU starts",
      .asked = asked,
      .needs = {std::move(need)}};
  for (const CdiSpec& one : specs)
    if (const std::string fault = cdi_fault(one, gpus); one.file.starts_with("/etc/cdi/") && !fault.empty())
      setting.contradictions.push_back({one.file, "it" + fault.substr(printable(one.file).size())});
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

}  // namespace

void add_container_engines(const Target& target, std::vector<Setting>& settings) {
  if (has_toolkit(target))
    for (const EngineGpus& engine : engine_gpus(target.view)) {
      if (!engine.installed || (!engine.asked && !engine.plainly_lacks)) continue;
      settings.push_back(engine.engine == "docker" ? docker_runtime(engine)
                         : engine.engine == "crio" ? crio_runtime(target, engine)
                                                   : containerd_runtime(target, engine));
    }
  add_cdi(target, settings);
}

}  // namespace railbed

// Rules about the way from container engines to a node's GPUs: NVIDIA's runtime in their files, and CDI's description. Both
// are read from files; no container starts.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/container_gpus.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns the things that a start of a container touches, too (container.starts).
Things engine_touches(const NodeView& node) {
  Things touches = {"container"};
  touches.add(node.gpu_touches);
  return touches;
}

// Calls `use` with the reading of the engine's files.
void with_files_of(std::string_view engine, const ContainerEngines& engines, const auto& use) {
  if (engine == "docker")
    use(engines.docker_runtimes);
  else
    use(engine == "crio" ? engines.crio : engines.containerd);
}

std::string what_fails(const EngineGpus& engine, const std::string& node) {
  if (engine.plainly_lacks)
    return fmt::format(
        "{} on {} cannot give a container a GPU: NVIDIA's toolkit is installed, and neither a runtime nor a description of CDI "
        "leads to it",
        engine.engine, node);
  if (engine.engine == "docker")
    return fmt::format(
        "docker on {} does not know NVIDIA's runtime: --runtime=nvidia and compose files that name it fail",
        node);
  return fmt::format(
      "{} on {} does not know NVIDIA's runtime: pods whose RuntimeClass has the handler nvidia do not start",
      engine.engine, node);
}

// Returns the remedy where a person has to look first, as in the plan (services/containerd-gpus); else an empty one.
Remedy by_hand(const EngineGpus& engine, const ContainerEngines& engines) {
  if (engine.engine != "containerd" || !engines.containerd.ok()) return {};
  switch (containerd_hold(*engines.containerd)) {
    case ContainerdHold::kNone:
      return {};
    case ContainerdHold::kVersion:
      return {
          .text =
              "/etc/containerd/config.toml is of no version from 2 on: bring it to one, then `railbed fix` adds "
              "the runtime.",
          .commands = {"containerd config migrate"},
          .by_hand_only = true};
    case ContainerdHold::kCriOff:
      return {
          .text =
              "/etc/containerd/config.toml switches the plugin cri off, which serves Kubernetes: take it out of "
              "disabled_plugins, then `railbed fix` adds the runtime.",
          .commands = {"grep disabled_plugins /etc/containerd/config.toml"},
          .by_hand_only = true};
    case ContainerdHold::kOverridden:
      return {.text = fmt::format(
                  "{} has settings of the same plugin, and up to containerd 2.1 they replace those of "
                  "config.toml: the runtime nvidia belongs there, with its options.BinaryName "
                  "/usr/bin/nvidia-container-runtime and the other settings of runc.",
                  printable(engines.containerd->overriding.back())),
              .commands = {"grep -rn runtimes /etc/containerd"},
              .by_hand_only = true};
  }
  return {};
}

void lacks_toolkit(Case& verdict, const EngineGpus& engine, const NodeView& node) {
  // container.starts tries it, and is unknown where an older capture did not look.
  if (node.expect().container)
    return verdict.not_applicable("the NVIDIA Container Toolkit was not found (container.starts)");
  verdict.fail(
      {.message = fmt::format(
           "{} on {} cannot give a container a GPU: the NVIDIA Container Toolkit is not installed",
           engine.engine, *node.name),
       .expected = "nvidia-ctk",
       .observed = "none",
       .remedy = {
           .text = "Install the NVIDIA Container Toolkit from NVIDIA's repository (configure.packages)."}});
}

void nvidia_runtime(const Survey& survey, Judge& judge) {
  each_of(
      survey, judge, engine_gpus, [](const EngineGpus& engine) { return engine.engine; },
      [](const NodeView& node, const EngineGpus&) { return engine_touches(node); },
      [](Case& verdict, const NodeView& node, const EngineGpus& engine) {
        const ContainerEngines& engines = node.facts->system.engines;
        verdict.seen(engines.toolkit);
        with_files_of(engine.engine, engines, [&](const auto& files) { verdict.seen(files); });
        if (!engine.installed)
          return verdict.not_applicable(fmt::format("{} is not installed", engine.engine));
        if (!engine.asked && !engine.plainly_lacks)
          return engine.runtime == true
                     ? verdict.pass("nvidia")
                     : verdict.not_applicable("cluster.yaml asks for none (configure.nvidia_runtime)");
        if (engines.toolkit.absent()) return lacks_toolkit(verdict, engine, node);
        if (verdict.read(engines.toolkit) == nullptr) return;
        if (!engine.runtime)  // ends as unknown, with the file that could not be read
          return with_files_of(engine.engine, engines, [&](const auto& files) { (void)verdict.read(files); });
        if (*engine.runtime) return verdict.pass("nvidia");
        // docker run --gpus works without the runtime.
        const bool fails = engine.asked && (engine.engine != "docker" || engine.plainly_lacks);
        verdict.red(fails ? Status::kFail : Status::kWarn, {.message = what_fails(engine, *node.name),
                                                            .expected = "a runtime nvidia",
                                                            .observed = "none",
                                                            .remedy = by_hand(engine, engines)});
      });
}

void cdi_description(const Survey& survey, Judge& judge) {
  each_node(survey, judge, "CDI", engine_touches, [](Case& verdict, const NodeView& node) {
    if (verdict.lacks_gpus(node)) return;
    const ContainerEngines& engines = node.facts->system.engines;
    const Gpus& gpus = node.facts->gpus;
    const bool none = engines.cdi.absent() || (engines.cdi.ok() && engines.cdi->empty());
    if (none && asks_for_podman(node) && engines.toolkit.value_or(false)) {
      verdict.seen(engines.cdi);
      return verdict.fail(
          {.message = fmt::format(
               "podman on {} finds no description of the GPUs: no container with a GPU starts", *node.name),
           .expected = "a description of kind nvidia.com/gpu",
           .observed = "none in /etc/cdi and /run/cdi"});
    }
    if (none) return verdict.not_applicable("there is no description of CDI, and cluster.yaml asks for none");
    const auto* specs = verdict.read(engines.cdi);
    if (specs == nullptr) return;
    verdict.seen(gpus.driver_version);
    verdict.seen(gpus.device_nodes);
    const std::string fault = cdi_fault(*specs, gpus);
    const auto used = used_cdi_specs(*specs);
    if (fault.empty()) return verdict.pass(used.front()->file);
    const bool stale =
        std::ranges::any_of(used, [&](const CdiSpec* spec) { return !cdi_fault(*spec, gpus).empty(); });
    verdict.red(stale ? Status::kFail : Status::kWarn,
                {.message = fmt::format(
                     "CDI's description of the GPUs of {} is {}: {}", *node.name,
                     stale ? "stale, and containers with GPUs may not start" : "not complete", fault),
                 .expected = "the loaded driver's files and each GPU",
                 .observed = fault});
  });
}

}  // namespace

std::span<const Rule> runtime_rules() {
  static const Rule kRules[] = {
      {.id = "container.runtime",
       .title = "container engines know NVIDIA's runtime",
       .why =
           "Without it a pod of the RuntimeClass nvidia does not start, and --runtime=nvidia fails; where nothing else leads to "
           "the GPUs, containers have none.",
       .source =
           "/etc/docker/daemon.json; /etc/containerd/config.toml and its imports; /etc/crio/crio.conf, crio.conf.d",
       .standard =
           "what configure.nvidia_runtime or expect.container of cluster.yaml asks for; without that, not that the toolkit is "
           "installed beside docker, or beside containerd with a kubelet, and neither runtime, hook nor CDI leads to it",
       .remedy = "Add the runtime to the engine's configuration, and restart the engine.",
       .fixture = "h100-containerd-no-runtime",
       .explained_by = {},
       .settings = {"services/docker-gpus", "services/containerd-gpus", "services/crio-gpus",
                    "packages/container-toolkit"},
       .check = nvidia_runtime},
      {.id = "container.cdi",
       .title = "CDI describes the GPUs as they are",
       .why =
           "podman, Kubernetes and docker mount the files that the description names: after another driver they are gone, and "
           "no container with a GPU starts.",
       .source = "/etc/cdi, /run/cdi; /proc/driver/nvidia/version, /dev/nvidia*",
       .standard =
           "the loaded driver's version, no file that is gone, each GPU and no other; not judged without a description, unless "
           "podman starts expect.container",
       .remedy = "Describe the GPUs anew, now and at each boot.",
       .fixture = "h100-cdi-stale",
       .explained_by = {"gpu.driver", "gpu.version-mismatch", "gpu.nvml", "gpu.answers"},
       .settings = {"services/cdi"},
       .check = cdi_description},
  };
  return kRules;
}

}  // namespace railbed

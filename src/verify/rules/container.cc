// The node as seen from a container of the image that cluster.yaml names, started the way a GPU job is.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/wording.h"
#include "model/tools.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns what findings about the container touch. Once it got as far as the setup of its GPUs, that includes
// the node's GPUs, since the driver may be at fault.
Things container_touches(const NodeView& node) {
  Things touches = {"container"};
  const auto& look = node.facts->container;
  if (look.ok() && (look->start == ContainerStart::kGpuSetup || look->start == ContainerStart::kStarted))
    touches.add(node.gpu_touches);
  if (look.ok() && look->start == ContainerStart::kMemlock) touches.add("memlock");
  return touches;
}

template <class Look>
void each_container(const Survey& survey, Judge& judge, const Look& look) {
  each_node(survey, judge, "container", container_touches, [&](Case& verdict, const NodeView& node) {
    const ContainerLook* seen = verdict.read_if_there(
        node.facts->container,
        "no container was started: cluster.yaml names no image, or a health check or a monitor looks");
    if (seen != nullptr) look(verdict, node, *seen);
  });
}

// Like each_container(), for containers that started.
template <class Look>
void each_started_container(const Survey& survey, Judge& judge, const Look& look) {
  each_container(survey, judge, [&](Case& verdict, const NodeView& node, const ContainerLook& seen) {
    if (seen.start != ContainerStart::kStarted)
      return verdict.not_applicable("the container did not start (container.starts)");
    look(verdict, node, seen.inside);
  });
}

// Returns the runtime's name for commands. Text that the node reported itself is never part of a command.
std::string_view runtime_of(const NodeView& node) {
  return node.facts->container->runtime == "podman" ? "podman" : "docker";
}
std::string image_of(const NodeView& node) { return node.expect().container.value_or("IMAGE"); }

ShellCommand run_by_hand(const NodeView& node, const ShellCommand& devices = "",
                         const ShellCommand& what = "nvidia-smi -L") {
  const ShellCommand gpus = runtime_of(node) == "podman"
                                ? ShellCommand("--device nvidia.com/gpu=all --security-opt label=disable")
                                : ShellCommand("--gpus all");
  return command("{} run --rm --pull=never {}{} {} {}", runtime_of(node), gpus, devices, image_of(node),
                 what);
}

Remedy install_runtime(const NodeView& node, const std::string& wanted) {
  const std::string text = "Install it, or correct expect.container in cluster.yaml";
  if (wanted != "docker")
    return {text + ".", for_system(node, {"apt-get install podman"}, {"dnf install podman"})};
  return {text + "; on RHEL docker comes from Docker's own repository (docs.docker.com/engine/install).",
          for_system(node, {"apt-get install docker.io"}, {})};
}

// docs.nvidia.com, NVIDIA Container Toolkit: "Installing", "Configuring Docker", "Support for CDI".
Remedy install_toolkit(const NodeView& node, const std::string& runtime) {
  std::vector<ShellCommand> commands = for_system(node, {"apt-get install nvidia-container-toolkit"},
                                                  {"dnf install nvidia-container-toolkit"});
  if (runtime == "podman") {
    commands.emplace_back("nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
    return {
        "Install the NVIDIA Container Toolkit from NVIDIA's repository, and describe the GPUs for podman.",
        std::move(commands)};
  }
  commands.emplace_back("nvidia-ctk runtime configure --runtime=docker");
  commands.emplace_back("systemctl restart docker");
  return {
      "Install the NVIDIA Container Toolkit from NVIDIA's repository, and tell docker. Its restart ends "
      "containers that run: do it when no job does.",
      std::move(commands)};
}

Remedy repair_toolkit(const NodeView& node, const std::string& runtime) {
  if (runtime == "podman")
    return {
        "Describe the GPUs for podman anew: after another driver the old description names libraries that "
        "are gone.",
        {"nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", run_by_hand(node)}};
  return {"What NVIDIA's toolkit says last is the reason; nvidia-smi outside has to work first.",
          {"nvidia-smi -L", run_by_hand(node)}};
}

// Returns the innermost of nested errors, which is the most specific: "…: stderr: nvidia-container-cli:
// initialization error: nvml error: …".
std::string_view innermost(std::string_view said) {
  constexpr std::string_view kBegin = "nvidia-container-cli: ";
  const std::size_t at = said.rfind(kBegin);
  return at == std::string_view::npos ? said : said.substr(at);
}

void did_not_start(Case& verdict, const NodeView& node, const ContainerLook& look) {
  using enum ContainerStart;
  const auto complain = [&](std::string message, Remedy remedy) {
    verdict.fail({.message = std::move(message),
                  .expected = "it starts",
                  .observed = look.said.empty() ? "not installed" : look.said,
                  .remedy = std::move(remedy)});
  };
  const std::string& name = *node.name;
  switch (look.start) {
    case kNoRuntime:
      return complain(
          look.runtime.empty()
              ? fmt::format("no container can start on {}: it has neither docker nor podman", name)
              : fmt::format("no container can start on {}: {} is not installed", name, look.runtime),
          install_runtime(node, look.runtime));
    case kNoDaemon:
      return complain(fmt::format("no container can start on {}: docker's daemon does not answer", name),
                      {"Start it, and see why it was not running.",
                       {"systemctl enable --now docker", "journalctl -b -u docker"}});
    case kNoGpuSupport:
      return complain(
          fmt::format(
              "{} on {} cannot hand GPUs to containers: the NVIDIA Container Toolkit is missing or not "
              "set up",
              look.runtime, name),
          install_toolkit(node, look.runtime));
    case kGpuSetup:
      return complain(
          fmt::format("a container with GPUs does not start on {}: {}", name, innermost(look.said)),
          repair_toolkit(node, look.runtime));
    case kMemlock:
      return complain(
          fmt::format(
              "{} on {} may not lift the limit of locked memory for a container: RDMA cannot register "
              "its buffers there",
              look.runtime, name),
          {"Lift the limit of logins (rdma.memlock) and of the service that starts containers "
           "(rdma.service-memlock).",
           {}});
    default:
      return complain(
          fmt::format("{} does not start {} on {}: {}", look.runtime, look.image, name, look.said),
          {"Repeat it by hand.", {run_by_hand(node)}});
  }
}

void container_starts(const Survey& survey, Judge& judge) {
  each_container(survey, judge, [](Case& verdict, const NodeView& node, const ContainerLook& look) {
    using enum ContainerStart;
    const std::string& by = look.runtime;
    if (look.start == kStarted) return verdict.pass(look.image + " by " + by);
    if (look.start == kDenied)
      return verdict.unknown(
          "docker does not let this user in: run railbed as root, or as a member of the group "
          "docker, which can do as much as root");
    if (look.start == kNoShell)
      return verdict.unknown(
          fmt::format("{} has no sh that could say what it sees: name an image with one", look.image));
    if (look.start == kBusy)
      return verdict.unknown(
          fmt::format("another look is at work, or one was cut off: {} rm --force railbed-look "
                      "removes its container",
                      by));
    if (look.start != kNoImage) return did_not_start(verdict, node, look);
    verdict.warn(
        {.message = fmt::format("{} on {} has no image {}: what its containers see is not known, and a job "
                                "waits until it is pulled",
                                by, *node.name, look.image),
         .expected = look.image,
         .observed = look.said,
         .remedy = {"Pull it as the user that railbed runs as; railbed never does.",
                    {command("{} pull {}", runtime_of(node), image_of(node))}}});
  });
}

Remedy give_all_gpus(const NodeView& node) { return repair_toolkit(node, node.facts->container->runtime); }

Remedy give_libcuda(const NodeView& node) {
  if (runtime_of(node) == "podman") return give_all_gpus(node);
  return {
      "The image asks for less by NVIDIA_DRIVER_CAPABILITIES: start it with -e "
      "NVIDIA_DRIVER_CAPABILITIES=compute,utility, or name an image that asks for compute.",
      {command("docker image inspect --format '{{.Config.Env}}' {}", image_of(node))}};
}

void container_gpus(const Survey& survey, Judge& judge) {
  each_started_container(
      survey, judge, [](Case& verdict, const NodeView& node, const ContainerSight& inside) {
        if (verdict.lacks_gpus(node)) return;
        const auto& nodes = node.facts->gpus.device_nodes;
        const std::size_t outside = nodes.ok() ? nodes->size() : node.gpus().size();
        if (inside.gpus.size() < outside)
          return verdict.fail({.message = fmt::format("a container on {} has {} of {} GPUs", *node.name,
                                                      inside.gpus.size(), outside),
                               .expected = counted(outside, "GPU"),
                               .observed = fmt::format("{} of /dev/nvidia0 and on", inside.gpus.size()),
                               .remedy = give_all_gpus(node)});
        if (!inside.libcuda)
          return verdict.fail(
              {.message = fmt::format("a container on {} has GPUs and no libcuda.so.1: CUDA does not "
                                      "start in it",
                                      *node.name),
               .expected = "libcuda.so.1",
               .observed = "none in its folders of libraries",
               .remedy = give_libcuda(node)});
        if (inside.listed && *inside.listed < static_cast<int>(outside))
          return verdict.fail(
              {.message = fmt::format("nvidia-smi in a container on {} lists {} of {} GPUs{}{}", *node.name,
                                      *inside.listed, outside, inside.complaint.empty() ? "" : ": ",
                                      inside.complaint),
               .expected = counted(outside, "GPU"),
               .observed = counted(*inside.listed, "GPU"),
               .remedy = give_all_gpus(node)});
        verdict.pass(fmt::format("{} GPUs, libcuda.so.1", inside.gpus.size()));
      });
}

void container_rdma(const Survey& survey, Judge& judge) {
  each_started_container(
      survey, judge, [](Case& verdict, const NodeView& node, const ContainerSight& inside) {
        const auto& modes = node.facts->rdma.device_modes;
        const auto names = modes.ok() ? *modes : std::map<std::string, int>();
        const auto is_uverbs = [](const auto& each) { return each.first.starts_with("uverbs"); };
        const auto is_inside = [&](const auto& each) {
          return is_uverbs(each) &&
                 std::ranges::find(inside.rdma_nodes, each.first) != inside.rdma_nodes.end();
        };
        const auto outside = std::ranges::count_if(names, is_uverbs);
        const auto found = std::ranges::count_if(names, is_inside);
        if (outside == 0) return verdict.not_applicable("there is no /dev/infiniband/uverbs0 to hand out");
        if (found < outside)
          return verdict.fail(
              {.message =
                   fmt::format("a container on {} has {} of {} nodes /dev/infiniband/uverbs* although it was "
                               "given that folder: NCCL in it falls back to TCP without a word",
                               *node.name, found, outside),
               .expected = counted(outside, "node"),
               .observed = counted(found, "node"),
               .remedy = {"See what keeps the device out.",
                          {run_by_hand(node, " --device /dev/infiniband", "ls /dev/infiniband")}}});
        if (inside.memlock != kUnlimited)
          return verdict.fail(
              {.message = fmt::format("a container on {} may lock only {} of memory although it was "
                                      "started with --ulimit memlock=-1: RDMA cannot register its buffers",
                                      *node.name, to_text(ByteCount{inside.memlock})),
               .expected = "unlimited",
               .observed = to_text(ByteCount{inside.memlock}),
               .remedy = {"Look for a limit of the runtime itself.",
                          {"grep -r ulimits /etc/docker /etc/containers"}}});
        verdict.pass(fmt::format("{} of /dev/infiniband, locked memory unlimited", outside));
      });
}

}  // namespace

std::span<const Rule> container_rules() {
  static const Rule kRules[] = {
      {.id = "container.starts",
       .title = "a container with GPUs starts",
       .why =
           "Jobs come in containers: without the NVIDIA Container Toolkit, or with one for another driver, "
           "none of them starts.",
       .source = "docker run or podman run of expect.container, once, with --gpus all or --device "
                 "nvidia.com/gpu=all",
       .standard =
           "it starts, and its image is there; not judged without expect.container, nor in health checks",
       .remedy =
           "Look at the runtime and its daemon, the NVIDIA Container Toolkit and the image, in this order.",
       .fixture = "h100-container-no-toolkit",
       .explained_by = {"gpu.driver", "gpu.version-mismatch", "gpu.nvml", "gpu.xid-reboot", "rdma.memlock",
                        "container.cdi", "container.runtime"},
       .check = container_starts},
      {.id = "container.gpus",
       .title = "a container sees every GPU, and CUDA",
       .why = "A rank without its GPU stops the whole job; without libcuda no CUDA program starts.",
       .source = "/dev/nvidia*, libcuda.so.1 and nvidia-smi -L in that container",
       .standard = "as many as outside; not judged without expect.container",
       .remedy = "Look at NVIDIA_DRIVER_CAPABILITIES and at CDI's description of the GPUs.",
       .fixture = "h100-container-no-libcuda",
       .explained_by = {"gpu.driver", "gpu.version-mismatch", "gpu.nvml", "gpu.answers", "gpu.xid-reboot",
                        "container.cdi"},
       .check = container_gpus},
      {.id = "container.rdma",
       .title = "a container sees the RDMA devices",
       .why =
           "Without /dev/infiniband or with little locked memory NCCL goes over TCP, a tenth of the speed.",
       .source = "/dev/infiniband and /proc/self/limits in that container",
       .standard = "every uverbs node, memlock unlimited; not judged without expect.container",
       .remedy = "Start containers with --device /dev/infiniband and --ulimit memlock=-1.",
       .fixture = "h100-container-memlock",
       .explained_by = {},
       .check = container_rdma},
  };
  return kRules;
}

}  // namespace railbed

// Finds devices, limits and memory that a process lacks, mostly because its container was started without a
// flag.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "nccl/process_view.h"

namespace railbed::nccl {
namespace {

constexpr std::string_view kRdmaFlags = "--device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1";
constexpr std::string_view kRdmaPod =
    "ask for the RDMA device plugin's resource (rdma/…: 1) and add the capability IPC_LOCK under "
    "securityContext.capabilities.add; locked memory is containerd's own limit (LimitMEMLOCK=infinity)";
constexpr std::string_view kDockerGuide = "NCCL user guide, Troubleshooting, \"Docker\"";
constexpr std::uint64_t kLittleSharedMemory = 1ULL << 30;

std::string restart_with(std::string_view flags) {
  return fmt::format("Start the container with {} (docker run, podman run).", flags);
}

std::vector<std::string> active_devices(const Facts& node) {
  std::vector<std::string> names;
  for (const RdmaDevice& device : items(node.rdma.devices))
    if (std::ranges::any_of(items(device.ports),
                            [](const RdmaPort& port) { return port.state.value_or("") == "ACTIVE"; }))
      names.push_back(device.name);
  return names;
}

void no_nodes(ProcessView& view) {
  const std::string what =
      "sees no /dev/infiniband, and this node has RDMA: between nodes NCCL falls back to TCP without a word";
  if (view.contained())
    view.say(view.between_nodes(Severity::kWarning), "no-rdma-nodes", what, restart_with(kRdmaFlags),
             std::string(kRdmaPod), kDockerGuide);
  else
    view.say(view.between_nodes(Severity::kWarning), "no-rdma-nodes", what,
             "modprobe ib_uverbs, then restart the job.");
}

void nodes_closed(ProcessView& view, const std::vector<std::string>& closed) {
  view.say(view.between_nodes(Severity::kWarning), "rdma-nodes-closed",
           fmt::format("may not open {}: owner, group and mode keep user {} out", fmt::join(closed, ", "),
                       view.process.seen.user),
           view.contained()
               ? restart_with(fmt::format("{} and a user or --group-add that may open them", kRdmaFlags))
               : "See: ls -l /dev/infiniband; rdma-core's udev rules give mode 0666.",
           view.contained()
               ? "run it as a user, or with securityContext.supplementalGroups, that may open them"
               : "");
}

void devices_lacking(ProcessView& view) {
  std::vector<std::string> lacking;
  for (const std::string& name : active_devices(view.node)) {
    const auto& usable = items(view.process.rdma_devices);
    if (std::ranges::find(usable, name) == usable.end()) lacking.push_back(name);
  }
  if (lacking.empty()) return;
  view.say(
      Severity::kWarning, "rdma-devices-lacking",
      fmt::format("has no node of {}, which is active on this node: those rails stay idle unless the job is "
                  "meant to have only its share",
                  fmt::join(lacking, ", ")),
      view.contained() ? restart_with("--device /dev/infiniband") : "See: ls -l /dev/infiniband",
      view.contained() ? "ask the RDMA device plugin for as many devices as the job has rails" : "");
}

void rdma_nodes(ProcessView& view) {
  const auto& nodes = view.process.seen.rdma_nodes;
  if (!view.node_has_rdma() || !view.wants_rdma() || view.uses.network == "RDMA") return;
  if (nodes.absent() || (nodes.ok() && nodes->empty())) return no_nodes(view);
  if (!nodes.ok()) return;
  std::vector<std::string> closed;
  for (const DeviceNode& node : *nodes)
    if (!node.usable) closed.push_back("/dev/infiniband/" + node.name);
  if (!closed.empty()) return nodes_closed(view, closed);
  devices_lacking(view);
}

// Verbs lock the memory that they register (ib_umem_get); CAP_IPC_LOCK removes the limit.
void locked_memory(ProcessView& view) {
  const ProcessAnswer& seen = view.process.seen;
  const bool rdma = !items(seen.rdma_nodes).empty() && view.node_has_rdma() && view.wants_rdma();
  if (!rdma || !seen.locked_memory.ok() || *seen.locked_memory == UINT64_MAX) return;
  if (!seen.may_lock_memory.ok() || *seen.may_lock_memory || view.uses.network == "RDMA") return;
  view.say(view.between_nodes(Severity::kWarning), "memlock",
           fmt::format("may lock {} of memory: registering buffers fails (\"Cannot allocate memory\")",
                       to_text(ByteCount{*seen.locked_memory})),
           view.contained()
               ? restart_with("--ulimit memlock=-1 --cap-add IPC_LOCK")
               : "ulimit -l unlimited before the job; for services LimitMEMLOCK=infinity in the unit.",
           view.contained()
               ? "containerd's LimitMEMLOCK=infinity, or the capability IPC_LOCK for a job run by root"
               : "",
           "ib_umem_get, drivers/infiniband/core/umem.c");
}

// Shared memory carries the data between GPUs without peer access and of NCCL's own proxies.
void shared_memory_size(ProcessView& view) {
  const auto& size = view.process.seen.shared_memory;
  if (!view.contained() || !size.ok() || *size >= kLittleSharedMemory) return;
  view.say(
      Severity::kWarning, "shm-small",
      fmt::format("has {} of /dev/shm (a container gets 64 MiB unless it is told): NCCL and loaders of data "
                  "fail with \"No space left on device\" or \"Bus error\"",
                  to_text(ByteCount{*size})),
      restart_with("--shm-size=16g, or --ipc=host"), "mount an emptyDir with medium: Memory at /dev/shm",
      kDockerGuide);
}

bool is_address_of_gid(const ProcessView& view) {
  for (const RdmaDevice& device : items(view.node.rdma.devices))
    for (const RdmaPort& port : items(device.ports))
      for (const Gid& gid : items(port.gids))
        if (gid.gid.ok() && !gid.gid->is_link_local() && !view.interface_of(gid.gid->to_text()).empty())
          return true;
  return false;
}

bool has_roce(const Facts& node) {
  return std::ranges::any_of(items(node.rdma.devices), [](const RdmaDevice& device) {
    return std::ranges::any_of(items(device.ports), [](const RdmaPort& port) {
      return port.state.value_or("") == "ACTIVE" && port.link_layer.value_or("") == "Ethernet";
    });
  });
}

void network_of_its_own(ProcessView& view) {
  const auto net = view.process.seen.shares.find("net");
  const bool own = net != view.process.seen.shares.end() && !net->second.value_or(true);
  const bool nodes = !items(view.process.seen.rdma_nodes).empty();
  if (!own || !nodes || !has_roce(view.node) || view.uses.network == "RDMA" || !view.wants_rdma()) return;
  if (view.spans_nodes() == std::optional(false) || is_address_of_gid(view)) return;
  view.say(
      Severity::kWarning, "own-network",
      "has a network of its own, in which no interface has an address of the RoCE ports: whether their GIDs "
      "serve connections from there, only the job can tell",
      restart_with("--network host"),
      "hostNetwork: true, or a second network by Multus and SR-IOV that brings the port's interface along");
}

void gpu_nodes(ProcessView& view) {
  const auto& nodes = view.process.seen.gpu_nodes;
  if (!nodes.ok() || !nodes->empty() || items(view.node.gpus.devices).empty() || !view.contained()) return;
  view.say(Severity::kError, "no-gpu-nodes", "sees no /dev/nvidia0 or other GPU, and this node has some",
           restart_with("--gpus all, or --device nvidia.com/gpu=all (CDI)"), "ask for nvidia.com/gpu: N");
}

void open_files(ProcessView& view) {
  const auto& limit = view.process.seen.file_limit;
  const auto& count = view.process.seen.files;
  if (!limit.ok() || !count.ok() || *limit == UINT64_MAX) return;
  if (static_cast<std::uint64_t>(*count) * 5 < *limit * 4) return;
  view.say(
      Severity::kWarning, "files-used-up",
      fmt::format("has {} files open of {} that it may: the next connection fails (\"Too many open files\")",
                  *count, *limit),
      view.contained() ? restart_with("--ulimit nofile=1048576") : "ulimit -n 1048576 before the job.",
      view.contained() ? "containerd's LimitNOFILE" : "");
}

// NCCL opens plugins with its first communicator, and continues without one that it cannot open
// (src/plugin/plugin_open.cc). A plugin that is given by path may have any name.
void missing_plugin(ProcessView& view) {
  const NcclVariable* const set = effective(view.process.nccl, "NCCL_NET_PLUGIN");
  if (set == nullptr || set->value.empty() || lower(set->value) == "none") return;
  const auto is_plugin = [](const MappedLibrary& library) { return library.name.starts_with("libnccl-net"); };
  const auto& libraries = view.process.seen.libraries;
  if (!libraries.ok() || std::ranges::any_of(*libraries, is_plugin)) return;
  if (set->value.find('/') != std::string::npos && set->value.find("libnccl-net") == std::string::npos)
    return;
  const bool began = !view.uses.network.empty();
  view.say(
      began ? Severity::kWarning : Severity::kNote, "no-plugin",
      fmt::format("NCCL_NET_PLUGIN={}, and no network plugin is loaded: {}", set->value,
                  began ? "NCCL took its own network, and only INFO says so"
                        : "NCCL opens it with its first communicator, which may be still to come"),
      "Put the plugin where the job's loader finds it (LD_LIBRARY_PATH, ldconfig), or remove the variable.",
      view.contained() ? "an image that has the plugin" : "", "NCCL src/plugin/plugin_open.cc");
}

}  // namespace

void lint_process_devices(ProcessView& view) {
  rdma_nodes(view);
  locked_memory(view);
  network_of_its_own(view);
  shared_memory_size(view);
  gpu_nodes(view);
  open_files(view);
  missing_plugin(view);
}

}  // namespace railbed::nccl

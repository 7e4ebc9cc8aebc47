// Exports of storage over rails (`storage:` of cluster.yaml): served, and connected as described.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "model/nfs_export.h"
#include "model/storage_export.h"
#include "verify/areas.h"
#include "verify/walk.h"

namespace railbed {
namespace {

// Returns what a finding about one node's part in an export is about: the export and the node's end of its rail. The rail
// itself is not among them, for one export on it does not explain another.
Things touches_of_export(const NodeView& node, const StorageExport& one) {
  Things touches = {"storage:" + one.name};
  for (const RailEnd& end : node.ends)
    if (end.rail != nullptr && end.rail->name == one.rail)
      for (const std::string& thing : end.touches)
        if (!thing.starts_with("rail:")) touches.add(thing);
  return touches;
}

// A client's finding has its cause on the server, or on either end of the rail.
Things touches_of_client(const NodeView& node, const StorageExport& one) {
  Things touches = touches_of_export(node, one);
  touches.add("rail:" + one.rail);
  touches.add("node:" + one.server);
  return touches;
}

using ExportsOf = std::vector<const StorageExport*> (*)(const Cluster& cluster, std::string_view node);

// `exports` is exports_of or directories_of.
template <class Look>
void each_server(const Survey& survey, Judge& judge, ExportsOf exports, Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const StorageExport* const one : exports(survey.evidence.cluster, *node.name)) {
      Case verdict = judge.on(node, one->name, touches_of_export(node, *one));
      look(verdict, node, *one);
    }
}

// `exports` is connections_of or mounts_of.
template <class Look>
void each_client(const Survey& survey, Judge& judge, ExportsOf exports, Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const StorageExport* const one : exports(survey.evidence.cluster, *node.name)) {
      Case verdict = judge.on(node, one->name, touches_of_client(node, *one));
      look(verdict, node, *one);
    }
}

void judge_module(Case& verdict, const NodeView& node, const StorageExport& one, const std::string& module) {
  const Kernel& kernel = node.facts->system.kernel;
  verdict.seen(kernel.present_modules);
  if (!kernel.present_modules.ok() && verdict.read(kernel.loaded_modules) == nullptr) return;
  if (module_present(*node.facts, module)) return verdict.pass("loaded");
  verdict.fail({.message = fmt::format("kernel module {} is not loaded on {}: {} does not run", module,
                                       *node.name, one.name),
                .expected = module + " is loaded",
                .observed = "not loaded"});
}

void storage_modules(const Survey& survey, Judge& judge) {
  each_server(survey, judge, exports_of, [](Case& verdict, const NodeView& node, const StorageExport& one) {
    judge_module(verdict, node, one, fmt::format("nvmet_{}", transport_of(one)));
  });
  each_client(survey, judge, connections_of,
              [](Case& verdict, const NodeView& node, const StorageExport& one) {
                judge_module(verdict, node, one, fmt::format("nvme_{}", transport_of(one)));
              });
  // NFS over TCP is in the modules of NFS itself, which are loaded when they are used.
  const auto by_rdma = [](Case& verdict, const NodeView& node, const StorageExport& one) {
    if (!is_rdma(one.protocol)) return verdict.not_applicable("NFS over TCP needs no module of its own");
    judge_module(verdict, node, one, "rpcrdma");
  };
  each_server(survey, judge, directories_of, by_rdma);
  each_client(survey, judge, mounts_of, by_rdma);
}

void directory_exported(Case& verdict, const Cluster& cluster, const NodeView& node,
                        const StorageExport& one) {
  const NfsFacts& nfs = node.facts->system.storage.nfs;
  verdict.seen(nfs.exports);
  verdict.seen(nfs.listeners);
  if (!nfs.exports.ok() && !nfs.exports.absent()) return (void)verdict.read(nfs.exports);
  if (!nfs.listeners.ok() && !nfs.listeners.absent()) return (void)verdict.read(nfs.listeners);
  const std::string otherwise = exported_otherwise(cluster, one, nfs);
  if (otherwise.empty()) return verdict.pass(place_of(one));
  verdict.fail({.message = fmt::format("{} does not export {} ({}) as cluster.yaml describes it: {}",
                                       *node.name, one.name, one.path, otherwise),
                .expected = fmt::format("{} at {}, {}, for its clients alone", one.path, place_of(one),
                                        one.read_only ? "read only" : "to be written"),
                .observed = otherwise});
}

void storage_exported(const Survey& survey, Judge& judge) {
  each_server(survey, judge, directories_of,
              [&](Case& verdict, const NodeView& node, const StorageExport& one) {
                directory_exported(verdict, survey.evidence.cluster, node, one);
              });
  each_server(survey, judge, exports_of, [&](Case& verdict, const NodeView& node, const StorageExport& one) {
    const auto& targets = node.facts->system.storage.nvme_targets;
    verdict.seen(targets);
    if (!targets.ok() && !targets.absent()) return (void)verdict.read(targets);
    const std::string otherwise = served_otherwise(survey.evidence.cluster, one, targets.value_or({}));
    if (otherwise.empty()) return verdict.pass(place_of(one));
    verdict.fail({.message = fmt::format("{} does not serve {} ({}) as cluster.yaml describes it: {}",
                                         *node.name, one.name, one.device, otherwise),
                  .expected = fmt::format("{} at {}, for its clients alone", one.device, place_of(one)),
                  .observed = otherwise});
  });
}

void directory_mounted(Case& verdict, const NodeView& node, const StorageExport& one) {
  const auto* const mounts = verdict.read(node.facts->system.storage.nfs.mounts);
  if (mounts == nullptr) return;
  if (mount_of(one, *mounts).mount != nullptr) return verdict.pass("mounted at " + one.mount);
  verdict.fail({.message = fmt::format(
                    "{} has not mounted {} of {} at {}: what is written there stays on its own disk",
                    *node.name, one.name, one.server, one.mount),
                .expected = fmt::format("{} is mounted at {}", nfs_source(one), one.mount),
                .observed = "not mounted"});
}

void storage_connected(const Survey& survey, Judge& judge) {
  each_client(survey, judge, mounts_of, directory_mounted);
  each_client(
      survey, judge, connections_of, [](Case& verdict, const NodeView& node, const StorageExport& one) {
        const auto* const controllers = verdict.read(node.facts->system.storage.nvme);
        if (controllers == nullptr) return;
        const StorageConnection seen = connection_to(one, *controllers);
        if (seen.live) return verdict.pass(seen.controller->name + " is live");
        const std::string state =
            seen.controller == nullptr
                ? "not connected"
                : fmt::format("{} is {}", seen.controller->name,
                              printable(seen.controller->state.value_or("in no state that shows")));
        verdict.fail(
            {.message = seen.controller == nullptr
                            ? fmt::format("{} is not connected to {} of {}", *node.name, one.name, one.server)
                            : fmt::format("{} lost {} of {}: {}, and who reads or writes there waits",
                                          *node.name, one.name, one.server, state),
             .expected = "a live controller",
             .observed = state});
      });
}

// The connection may be that of another mount: with NFS 4.1 a client that finds a server again at another address goes on
// with the connection that it has.
void directory_path(Case& verdict, const NodeView& node, const StorageExport& one) {
  const auto* const mounts = verdict.read(node.facts->system.storage.nfs.mounts);
  if (mounts == nullptr) return;
  const DirectoryMount seen = mount_of(one, *mounts);
  if (seen.mount == nullptr) return verdict.not_applicable("not mounted");
  if (!seen.knows_way)
    return verdict.unknown("the kernel does not show the protocol and the address of the mount");
  if (seen.right_transport && seen.right_address) return verdict.pass(seen.way);
  verdict.fail(
      {.message = fmt::format("{} of {} reaches {} at {}, not over {}", one.name, *node.name, one.server,
                              seen.way, one.rail),
       .expected = place_of(one),
       .observed = seen.way,
       .remedy = {
           "Unmount every mount of this server, for they share one connection; then `railbed apply --only "
           "storage` mounts it over the rail.",
           {command("umount {}", one.mount)}}});
}

void storage_path(const Survey& survey, Judge& judge) {
  each_client(survey, judge, mounts_of, directory_path);
  each_client(survey, judge, connections_of, [](Case& verdict, const NodeView& node, const StorageExport& one) {
    const auto* const controllers = verdict.read(node.facts->system.storage.nvme);
    if (controllers == nullptr) return;
    const StorageConnection seen = connection_to(one, *controllers);
    if (seen.controller == nullptr) return verdict.not_applicable("not connected");
    const std::string* const transport = verdict.read(seen.controller->transport);
    if (transport == nullptr || verdict.read(seen.controller->address) == nullptr) return;
    const std::string way = fmt::format("{} by {}", seen.server, printable(*transport));
    if (seen.right_transport && seen.right_address) return verdict.pass(way);
    verdict.fail(
        {.message = fmt::format("{} of {} reaches {} at {}, not over {}", one.name, *node.name, one.server,
                                way, one.rail),
         .expected = place_of(one),
         .observed = way,
         .remedy = {
             "Unmount what is on it and disconnect it; then `railbed apply --only storage` connects it over the rail.",
             {command("nvme disconnect --nqn {}", one.nqn)}}});
  });
}

}  // namespace

std::span<const Rule> storage_rules() {
  static const Rule kRules[] = {
      {.id = "storage.module",
       .title = "kernel modules of the export are loaded",
       .why =
           "The kernel serves a device by nvmet_tcp or nvmet_rdma, and connects to it by nvme_tcp or nvme_rdma; NFS over "
           "RDMA is in rpcrdma.",
       .source = "/proc/modules, /sys/module",
       .standard = "the module of each protocol in storage: of cluster.yaml, on its server and its clients",
       .remedy =
           "`railbed apply --only storage` starts the unit that loads it; a kernel without the module needs the "
           "package that has it (linux-modules-extra, kernel-modules-core).",
       .fixture = "storage-module-missing",
       .explained_by = {},
       .settings = {"storage/serve", "storage/connect", "storage/nfs-serve", "storage/nfs-mount"},
       .check = storage_modules},
      {.id = "storage.exported",
       .title = "export is served as described",
       .why =
           "Clients that find no such export have no device or directory; one that admits others gives them the data.",
       .source = "/sys/kernel/config/nvmet; /var/lib/nfs/etab, /proc/fs/nfsd/portlist",
       .standard = "storage: of cluster.yaml: device or path, address on the rail, protocol and clients",
       .remedy = "`railbed apply --only storage` serves it as described.",
       .fixture = "storage-not-exported",
       .explained_by = {"storage.module", "net.address", "net.interface"},
       .settings = {"storage/serve", "storage/nfs-serve"},
       .check = storage_exported},
      {.id = "storage.connected",
       .title = "client has what is exported to it",
       .why =
           "Programs that read or write on a device wait until its controller is live again, for as long as it takes; "
           "where a directory is not mounted they find an empty one, and fill the node's own disk.",
       .source = "/sys/class/nvme/*/{state,subsysnqn}; /proc/self/mountinfo",
       .standard = "a live controller, or a mount, of each export in storage: of cluster.yaml",
       .remedy = "Look at the server and the rail; `railbed apply --only storage` connects it.",
       .fixture = "storage-not-connected",
       .explained_by = {"storage.exported", "storage.module", "net.carrier", "net.address"},
       .settings = {"storage/connect", "storage/nfs-mount"},
       .check = storage_connected},
      {.id = "storage.path",
       .title = "export is reached over its rail",
       .why =
           "Over another network or by TCP it works, at a fraction of the rate, and takes away what jobs need there.",
       .source = "/sys/class/nvme/*/{transport,address}; proto= and addr= of /proc/self/mountinfo",
       .standard = "storage: of cluster.yaml: protocol, and the server's address on the rail",
       .remedy = "Disconnect it; `railbed apply --only storage` connects it over the rail.",
       .fixture = "storage-other-path",
       .explained_by = {},
       .check = storage_path},
  };
  return kRules;
}

}  // namespace railbed

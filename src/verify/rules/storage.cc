// Exports of storage over rails (`storage:` of cluster.yaml): served, and connected as described.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
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

template <class Look>
void each_server(const Survey& survey, Judge& judge, Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const StorageExport* const one : exports_of(survey.evidence.cluster, *node.name)) {
      Case verdict = judge.on(node, one->name, touches_of_export(node, *one));
      look(verdict, node, *one);
    }
}

template <class Look>
void each_client(const Survey& survey, Judge& judge, Look&& look) {
  for (const NodeView& node : survey.nodes)
    for (const StorageExport* const one : connections_of(survey.evidence.cluster, *node.name)) {
      Case verdict = judge.on(node, one->name, touches_of_client(node, *one));
      look(verdict, node, *one);
    }
}

void judge_module(Case& verdict, const NodeView& node, const StorageExport& one, std::string_view kind) {
  const std::string module = fmt::format("{}_{}", kind, transport_of(one));
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
  each_server(survey, judge, [](Case& verdict, const NodeView& node, const StorageExport& one) {
    judge_module(verdict, node, one, "nvmet");
  });
  each_client(survey, judge, [](Case& verdict, const NodeView& node, const StorageExport& one) {
    judge_module(verdict, node, one, "nvme");
  });
}

void storage_exported(const Survey& survey, Judge& judge) {
  each_server(survey, judge, [&](Case& verdict, const NodeView& node, const StorageExport& one) {
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

void storage_connected(const Survey& survey, Judge& judge) {
  each_client(survey, judge, [](Case& verdict, const NodeView& node, const StorageExport& one) {
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
                        : fmt::format("{} lost {} of {}: {}, and who reads or writes there waits", *node.name,
                                      one.name, one.server, state),
         .expected = "a live controller",
         .observed = state});
  });
}

void storage_path(const Survey& survey, Judge& judge) {
  each_client(survey, judge, [](Case& verdict, const NodeView& node, const StorageExport& one) {
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
             "Unmount what is on it and disconnect it; then `railbed apply` connects it over the rail.",
             {command("nvme disconnect --nqn {}", one.nqn)}}});
  });
}

}  // namespace

std::span<const Rule> storage_rules() {
  static const Rule kRules[] = {
      {.id = "storage.module",
       .title = "kernel modules of the export are loaded",
       .why =
           "The kernel serves a device by nvmet_tcp or nvmet_rdma, and connects to it by nvme_tcp or nvme_rdma.",
       .source = "/proc/modules, /sys/module",
       .standard = "the module of each protocol in storage: of cluster.yaml, on its server and its clients",
       .remedy =
           "Apply the setting; a kernel without the module needs the package that has it (linux-modules-extra, "
           "kernel-modules-core).",
       .fixture = "storage-module-missing",
       .explained_by = {},
       .settings = {"storage/serve", "storage/connect"},
       .check = storage_modules},
      {.id = "storage.exported",
       .title = "block device is served as described",
       .why =
           "Clients that find no such export have no device; one that admits other hosts gives them the data.",
       .source = "/sys/kernel/config/nvmet",
       .standard = "storage: of cluster.yaml: device, address on the rail, protocol and clients",
       .remedy = "Apply the setting.",
       .fixture = "storage-not-exported",
       .explained_by = {"storage.module", "net.address", "net.interface"},
       .settings = {"storage/serve"},
       .check = storage_exported},
      {.id = "storage.connected",
       .title = "client has its block device",
       .why =
           "Programs that read or write there wait until the controller is live again, for as long as it takes.",
       .source = "/sys/class/nvme/*/{state,subsysnqn}",
       .standard = "a live controller of each export in storage: of cluster.yaml",
       .remedy = "Look at the server and the rail; then apply the setting.",
       .fixture = "storage-not-connected",
       .explained_by = {"storage.exported", "storage.module", "net.carrier", "net.address"},
       .settings = {"storage/connect"},
       .check = storage_connected},
      {.id = "storage.path",
       .title = "block device is reached over its rail",
       .why =
           "Over another network or by TCP it works, at a fraction of the rate, and takes away what jobs need there.",
       .source = "/sys/class/nvme/*/{transport,address}",
       .standard = "storage: of cluster.yaml: protocol, and the server's address on the rail",
       .remedy = "Disconnect it and connect it over the rail.",
       .fixture = "storage-other-path",
       .explained_by = {},
       .check = storage_path},
  };
  return kRules;
}

}  // namespace railbed

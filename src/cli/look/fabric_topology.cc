// railbed fabric topology: the tree of switches for a scheduler, from the cables of a subnet.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/document.h"
#include "cli/look/fabric_look.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/plan/schedule_output.h"
#include "cli/terminal.h"
#include "fabric/judge.h"
#include "fabric/planes.h"
#include "fabric/wiring.h"
#include "inventory/load.h"
#include "report/text/schedule_text.h"

namespace railbed {
namespace {

struct TopologyOptions {
  std::string cluster, from, device, format = "slurm";
  int port = 0;
  bool json = false;
};

int run_topology(const TopologyOptions& options) {
  std::vector<std::string> hosts;
  if (!options.cluster.empty()) {
    const auto cluster = load_cluster(options.cluster);
    if (!cluster) return report(cluster.error());
    hosts = infiniband_hosts(*cluster);
    if (hosts.empty()) return report({ErrorKind::kBadInput, options.cluster + ": no rail is infiniband"});
  }
  auto looked = look_at_fabric(options.from, options.device, options.port);
  if (!looked) return report(looked.error());
  merge_planes(looked->fabric);
  return print_schedule(schedule_tree(wiring_of(looked->fabric, hosts)),
                        options.json ? "json" : options.format);
}

}  // namespace

void declare_fabric_topology(CLI::App& fabric,
                             const std::function<void(const std::function<int()>& run)>& choose) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App* app =
      fabric.add_subcommand("topology", "the tree of switches for a scheduler: Slurm, Kubernetes");
  app->callback([options, choose] { choose([options] { return run_topology(*options); }); });
  app->add_option("cluster.yaml", options->cluster,
                  "take only the nodes of its InfiniBand rails, and by these names");
  auto* format = add_schedule_format(*app, "--format", options->format);
  add_json_flag(*app, options->json, "print one JSON document", kScheduleDocument)->excludes(format);
  auto* device = app->add_option("--device", options->device,
                                 "ask through this device: mlx5_0; else the first with a link");
  app->add_option("--port", options->port, "and this port of it")->check(between(1, 254))->needs(device);
  app->add_option(
         "--from", options->from,
         "read a file of ibnetdiscover, iblinkinfo or ibdiagnet (ibdiagnet2.db_csv, .net_dump) instead of the subnet")
      ->excludes(device);
  app->footer(
      "\nEach node has one place in such a tree: nodes whose rails are on the same leaves are under one switch, which\n"
      "stands for these leaves, and spines that join the same leaves are one. docs/how-to/scheduler-topology.md\n\n"
      "Exit codes: 0 written, 1 written without some nodes (on stderr), 3 could not look.");
}

}  // namespace railbed

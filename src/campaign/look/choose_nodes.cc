#include "campaign/look/choose_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "fleet/kubernetes_launcher.h"
#include "fleet/slurm_launcher.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

using NodeNames = std::vector<std::string>;

Cluster cluster_of(std::string scheduler, const NodeNames& names) {
  Cluster cluster;
  cluster.name = std::move(scheduler);
  for (const std::string& name : names) {
    Node node;
    node.name = node.ssh = name;
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

std::string name_of(fleet::Launcher launcher) {
  return launcher == fleet::Launcher::kSlurm ? "slurm" : "kubernetes";
}

// A job or a partition may have nodes that cluster.yaml does not describe: only the described ones are used.
NodeNames common(const Cluster& cluster, const NodeNames& names) {
  const std::set<std::string> chosen(names.begin(), names.end());
  NodeNames both;
  for (const Node& node : cluster.nodes)
    if (chosen.contains(node.name)) both.push_back(node.name);
  return both;
}

// Returns the scheduler's nodes; nothing if it needs a choice (a job or a partition) first.
Result<std::optional<NodeNames>> ask_which(const ReachOptions& reach, const Caller& caller) {
  if (reach.launcher == fleet::Launcher::kSlurm)
    return fleet::slurm_nodes(reach.slurm, fleet::environment_here(), caller.stop);
  ASSIGN_OR_RETURN(auto names, fleet::kubernetes_nodes(reach.kubernetes, caller.stop));
  return std::optional(std::move(names));
}

Result<Cluster> choose_by_scheduler(Cluster cluster, const ReachOptions& reach, const Caller& caller) {
  ASSIGN_OR_RETURN(const auto names, ask_which(reach, caller));
  if (cluster.nodes.empty() && !names)
    return fail(
        ErrorKind::kBadInput,
        "which nodes? Name a cluster.yaml, or nodes of Slurm's: --nodelist, --partition or --slurm-job");
  if (cluster.nodes.empty()) return cluster_of(name_of(reach.launcher), *names);
  const auto both = common(cluster, *names);
  if (both.empty())
    return fail(ErrorKind::kBadInput, cluster.file + " names no node that is there, as Slurm has it");
  return narrowed(std::move(cluster), both);
}

// Fails if an option belongs to another scheduler than the chosen one.
Result<void> check_words(const ReachOptions& reach) {
  if (reach.launcher != fleet::Launcher::kSlurm && !(reach.slurm == fleet::SlurmChoice()))
    return fail(ErrorKind::kBadInput,
                "--slurm-job, --partition, --slurm-wait and --overlap are for --launcher slurm");
  if (reach.launcher != fleet::Launcher::kKubernetes && !(reach.kubernetes == fleet::KubernetesChoice()))
    return fail(ErrorKind::kBadInput,
                "--namespace, --selector, --context and --kubeconfig are for --launcher kubernetes");
  return {};
}

}  // namespace

Result<Cluster> narrowed(Cluster cluster, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (find_node(cluster, name) == nullptr) return fail(no_such_node(cluster, name));
  const std::set<std::string> kept(names.begin(), names.end());
  std::erase_if(cluster.nodes, [&](const Node& node) { return !kept.contains(node.name); });
  for (Rail& rail : cluster.rails)
    std::erase_if(rail.ports, [&](const RailPort& port) { return !kept.contains(port.node); });
  std::erase_if(cluster.storage, [&](const StorageExport& one) {
    return !kept.contains(one.server) && std::ranges::none_of(one.clients, [&](const std::string& client) {
      return kept.contains(client);
    });
  });
  return cluster;
}

Result<Cluster> choose_nodes(Cluster cluster, const ReachOptions& reach, const Caller& caller) {
  RETURN_IF_ERROR(check_words(reach));
  if (reach.launcher == fleet::Launcher::kSsh) {
    if (reach.nodelist.empty()) return cluster;
    if (cluster.nodes.empty())
      return fail(ErrorKind::kBadInput, "these are nodes of which cluster.yaml? Name it before them");
    ASSIGN_OR_RETURN(const auto names, named_hosts(reach.nodelist));
    return narrowed(std::move(cluster), names);
  }
  if (!reach.nodelist.empty()) {
    ASSIGN_OR_RETURN(const auto names, fleet::slurm_names(reach.nodelist));
    return cluster.nodes.empty() ? cluster_of(name_of(reach.launcher), names)
                                 : narrowed(std::move(cluster), names);
  }
  const bool narrower = !reach.slurm.job.empty() || !reach.slurm.partition.empty();
  if (!cluster.nodes.empty() && !narrower) return cluster;
  return choose_by_scheduler(std::move(cluster), reach, caller);
}

}  // namespace railbed

#include "campaign/choose_nodes.h"

#include <algorithm>
#include <set>

#include "fleet/slurm_launcher.h"

namespace railbed {
namespace {

Cluster cluster_of(const std::vector<std::string>& names) {
  Cluster cluster;
  cluster.name = "slurm";
  for (const std::string& name : names) {
    Node node;
    node.name = node.ssh = name;
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

// A job or a partition may have nodes that the file knows nothing of: what it says is about its own.
std::vector<std::string> common(const Cluster& cluster, const std::vector<std::string>& names) {
  const std::set<std::string> chosen(names.begin(), names.end());
  std::vector<std::string> both;
  for (const Node& node : cluster.nodes)
    if (chosen.contains(node.name)) both.push_back(node.name);
  return both;
}

bool names_some(const fleet::SlurmChoice& choice) {
  return !choice.nodelist.empty() || !choice.job.empty() || !choice.partition.empty();
}

}  // namespace

Result<Cluster> narrowed(Cluster cluster, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (find_node(cluster, name) == nullptr) return fail(no_such_node(cluster, name));
  const std::set<std::string> kept(names.begin(), names.end());
  std::erase_if(cluster.nodes, [&](const Node& node) { return !kept.contains(node.name); });
  for (Rail& rail : cluster.rails)
    std::erase_if(rail.ports, [&](const RailPort& port) { return !kept.contains(port.node); });
  return cluster;
}

Result<Cluster> choose_nodes(Cluster cluster, const ReachOptions& reach, const Caller& caller) {
  if (reach.launcher != fleet::Launcher::kSlurm) return cluster;
  if (!cluster.nodes.empty() && !names_some(reach.slurm)) return cluster;
  const auto names = fleet::slurm_nodes(reach.slurm, fleet::environment_here(), caller.stop);
  if (!names) return fail(names.error());
  if (cluster.nodes.empty() && !*names)
    return fail(
        ErrorKind::kBadInput,
        "which nodes? Name a cluster.yaml, or nodes of Slurm's: --nodelist, --partition or --slurm-job");
  if (cluster.nodes.empty()) return cluster_of(**names);
  if (!reach.slurm.nodelist.empty()) return narrowed(std::move(cluster), **names);
  const auto both = common(cluster, **names);
  if (both.empty())
    return fail(ErrorKind::kBadInput, cluster.file + " names no node that is there, as Slurm has it");
  return narrowed(std::move(cluster), both);
}

}  // namespace railbed

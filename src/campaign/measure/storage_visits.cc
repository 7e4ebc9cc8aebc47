#include "campaign/measure/storage_visits.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "inventory/hostlist.h"
#include "inventory/load.h"

namespace railbed {
namespace {

void add_visit(std::vector<StorageVisit>& visits, fleet::Target target, std::string folder) {
  const auto found = std::ranges::find_if(
      visits, [&](const StorageVisit& visit) { return visit.target.name == target.name; });
  if (found == visits.end())
    visits.push_back({std::move(target), {std::move(folder)}});
  else
    found->folders.push_back(std::move(folder));
}

// Parses DIR of this machine, or NODES:/DIR.
Result<void> add_place(std::vector<StorageVisit>& visits, const std::string& word) {
  const auto colon = word.find(':');
  if (colon == std::string::npos || colon > word.find('/')) {
    std::error_code error;
    const auto folder = std::filesystem::canonical(word, error);
    if (error) return fail(ErrorKind::kBadInput, fmt::format("{}: {}", word, error.message()));
    add_visit(visits, {"localhost", "", true}, folder.string());
    return {};
  }
  if (colon == 0 || word.compare(colon + 1, 1, "/") != 0)
    return fail(ErrorKind::kBadInput, fmt::format("\"{}\": write DIR, or NODE:/absolute/DIR", word));
  ASSIGN_OR_RETURN(const auto nodes, named_hosts(std::string_view(word).substr(0, colon)));
  for (const std::string& node : nodes) add_visit(visits, {node, node, false}, word.substr(colon + 1));
  return {};
}

// Returns the cluster's nodes, each with `folder` or, if it is empty, its checkpoint folder.
Result<StorageVisits> visits_of(const Cluster& cluster, const std::string& folder) {
  StorageVisits visits{{}, cluster.ssh_config};
  for (const Node& node : cluster.nodes) {
    const std::string own = folder.empty() ? node.expect.checkpoint_path.value_or("") : folder;
    if (own.empty())
      return fail(ErrorKind::kBadInput,
                  fmt::format("{} does not say where {} keeps checkpoints (expect: checkpoint_path); "
                              "name the folder with --dir",
                              cluster.file, node.name));
    add_visit(visits.nodes, fleet::target_of(node), own);
  }
  return visits;
}

}  // namespace

Result<StorageVisits> find_storage_visits(std::vector<std::string> where, const std::string& folder) {
  if (where.size() == 1 && is_description(where.front())) {
    const auto cluster = load_cluster(where.front());
    if (!cluster) return tl::unexpected<Error>(cluster.error());
    return visits_of(*cluster, folder);
  }
  if (!folder.empty())
    return fail(ErrorKind::kBadInput, "--dir goes with one cluster.yaml; else name the folders themselves");
  if (where.empty()) where = {"."};
  StorageVisits visits;
  for (const auto& word : where)
    if (auto added = add_place(visits.nodes, word); !added) return tl::unexpected<Error>(added.error());
  return visits;
}

}  // namespace railbed

#include "campaign/measure/gpu_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "fleet/fleet.h"
#include "inventory/hostlist.h"
#include "inventory/load.h"

namespace railbed {
namespace {

// Parses "gpu[01-04]" or "gpu01:0,1". A place that has GPUs of its own is named with them.
Result<void> add_places(const std::string& word, std::vector<GpuPlace>& places) {
  const auto colon = std::min(word.rfind(':'), word.size());
  std::vector<int> gpus;
  if (colon < word.size()) {
    const auto list = parse_list(word.substr(colon + 1), 64);
    if (!list || colon == 0)
      return fail(ErrorKind::kBadInput,
                  fmt::format("\"{}\": write NODE, or NODE:0,1 for these GPUs of it", word));
    gpus = *list;
  }
  ASSIGN_OR_RETURN(const auto hosts, named_hosts(std::string_view(word).substr(0, colon)));
  for (const std::string& host : hosts) places.push_back({host + word.substr(colon), host, gpus});
  return {};
}

}  // namespace

Result<GpuPlaces> find_gpu_places(const std::vector<std::string>& where, const std::vector<int>& own) {
  GpuPlaces places;
  if (!where.empty() && is_description(where.front())) {
    const auto cluster = load_cluster(where.front());
    if (!cluster) return tl::unexpected<Error>(cluster.error());
    places.ssh_config = cluster->ssh_config;
    ASSIGN_OR_RETURN(auto wanted, named_hosts(std::vector(where.begin() + 1, where.end())));
    for (const std::string& name : wanted)
      if (std::ranges::find(cluster->nodes, name, &Node::name) == cluster->nodes.end())
        return fail(ErrorKind::kBadInput, fmt::format("{} has no node \"{}\"", where.front(), name));
    for (const Node& node : cluster->nodes) {
      if (!wanted.empty() && std::ranges::find(wanted, node.name) == wanted.end()) continue;
      const fleet::Target target = fleet::target_of(node);
      places.nodes.push_back({node.name, target.local ? "localhost" : target.destination, {}});
    }
    places.cluster = *cluster;
  } else {
    for (const std::string& word : where) RETURN_IF_ERROR(add_places(word, places.nodes));
  }
  if (places.nodes.empty()) places.nodes.push_back({"localhost", "localhost", own});
  return places;
}

fleet::Fleet open_fleet(const GpuPlaces& places, ReachOptions reach) {
  std::vector<fleet::Target> targets;
  for (const GpuPlace& place : places.nodes) {
    const bool local = place.destination == "localhost";
    targets.push_back({place.name, local ? "" : place.destination, local});
  }
  reach.ssh_config = places.ssh_config;
  return {std::move(targets), std::move(reach)};
}

}  // namespace railbed

#include "campaign/measure/gpu_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
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
    std::vector<GpuPlace> wanted;
    for (const std::string& word : std::span(where).subspan(1)) RETURN_IF_ERROR(add_places(word, wanted));
    for (const GpuPlace& place : wanted)
      if (std::ranges::find(cluster->nodes, place.destination, &Node::name) == cluster->nodes.end())
        return fail(ErrorKind::kBadInput,
                    fmt::format("{} has no node \"{}\"", where.front(), place.destination));
    for (const Node& node : cluster->nodes) {
      const auto named = std::ranges::find(wanted, node.name, &GpuPlace::destination);
      if (!wanted.empty() && named == wanted.end()) continue;
      const fleet::Target target = fleet::target_of(node);
      places.nodes.push_back({node.name, target.local ? "localhost" : target.destination,
                              named == wanted.end() ? std::vector<int>() : named->gpus});
      if (std::ranges::count(wanted, node.name, &GpuPlace::destination) > 1)
        return fail(ErrorKind::kBadInput, fmt::format("{} is named twice: write {}:0,1 for its GPUs 0 and 1",
                                                      node.name, node.name));
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

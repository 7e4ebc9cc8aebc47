#include "campaign/measure/gpu_places.h"

#include <fmt/format.h>

#include "base/text.h"
#include "fleet/fleet.h"
#include "inventory/load.h"

namespace railbed {
namespace {

// Parses "gpu01" or "gpu01:0,1".
Result<GpuPlace> parse_place(const std::string& word) {
  GpuPlace place{word, word, {}};
  const auto colon = word.rfind(':');
  if (colon == std::string::npos) return place;
  place.destination = word.substr(0, colon);
  const auto list = parse_list(word.substr(colon + 1), 64);
  if (!list || place.destination.empty())
    return fail(ErrorKind::kBadInput,
                fmt::format("\"{}\": write NODE, or NODE:0,1 for these GPUs of it", word));
  place.gpus = *list;
  return place;
}

}  // namespace

Result<GpuPlaces> find_gpu_places(const std::vector<std::string>& where, const std::vector<int>& own) {
  GpuPlaces places;
  if (where.size() == 1 && is_description(where.front())) {
    const auto cluster = load_cluster(where.front());
    if (!cluster) return tl::unexpected<Error>(cluster.error());
    places.ssh_config = cluster->ssh_config;
    for (const Node& node : cluster->nodes) {
      const fleet::Target target = fleet::target_of(node);
      places.nodes.push_back({node.name, target.local ? "localhost" : target.destination, {}});
    }
  } else {
    for (const std::string& word : where) {
      auto place = parse_place(word);
      if (!place) return tl::unexpected<Error>(place.error());
      places.nodes.push_back(std::move(*place));
    }
  }
  if (places.nodes.empty()) places.nodes.push_back({"localhost", "localhost", own});
  return places;
}

}  // namespace railbed

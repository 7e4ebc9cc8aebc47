#include "campaign/open_pair.h"

#include <fmt/format.h>

#include "campaign/caller.h"
#include "campaign/survey.h"
#include "inventory/load.h"

namespace railbed {
namespace {

bool is_local(std::string_view name) { return name == "localhost" || name == "local"; }

// The fleet's targets: one, when both ends are the same node.
Result<std::vector<fleet::Target>> targets(const PairChoice& choice, const Cluster* cluster) {
  std::vector<fleet::Target> targets;
  for (const std::string& name : {choice.a, choice.b}) {
    if (!targets.empty() && targets.front().name == name) continue;
    if (cluster == nullptr) {
      targets.push_back({name, is_local(name) ? "" : name, is_local(name)});
      continue;
    }
    const Node* node = find_node(*cluster, name);
    if (node == nullptr) return fail(no_such_node(*cluster, name));
    targets.push_back(fleet::target_of(*node));
  }
  return targets;
}

Result<Facts> look_at(Peer& peer, const Caller& caller) {
  caller.progress("looking at " + peer.node());
  return facts_of(peer, caller);
}

Result<std::vector<BenchPath>> ways_of(const PairChoice& choice, const Cluster* cluster, const Facts& a,
                                       const Facts& b) {
  if (choice.a == choice.b) return std::vector{loopback_path()};
  if (cluster != nullptr) return rails_between(*cluster, choice.a, choice.b, choice.rail);
  auto path = path_between(a, choice.a, b, choice.b, choice.rail);
  if (!path) return tl::unexpected<Error>(path.error());
  return std::vector{*path};
}

Result<OpenPair> open(const PairChoice& choice, const Cluster* cluster, fleet::FleetOptions options,
                      const Caller& caller) {
  auto nodes = targets(choice, cluster);
  if (!nodes) return tl::unexpected<Error>(nodes.error());
  if (cluster != nullptr) options.ssh_config = cluster->ssh_config;
  OpenPair pair{fleet::Fleet(std::move(*nodes), std::move(options)), {}, {}, {}};
  auto a = look_at(pair.a(), caller);
  if (!a) return tl::unexpected<Error>(a.error());
  auto b = &pair.a() == &pair.b() ? a : look_at(pair.b(), caller);
  if (!b) return tl::unexpected<Error>(b.error());
  auto ways = ways_of(choice, cluster, *a, *b);
  if (!ways) return tl::unexpected<Error>(ways.error());
  pair.facts_a = std::move(*a);
  pair.facts_b = std::move(*b);
  pair.ways = std::move(*ways);
  return pair;
}

}  // namespace

Result<OpenPair> open_pair(const PairChoice& choice, fleet::FleetOptions options, const Caller& caller) {
  if (choice.cluster.empty()) return open(choice, nullptr, std::move(options), caller);
  const auto cluster = load_cluster(choice.cluster);
  if (!cluster) return tl::unexpected<Error>(cluster.error());
  return open(choice, &*cluster, std::move(options), caller);
}

}  // namespace railbed

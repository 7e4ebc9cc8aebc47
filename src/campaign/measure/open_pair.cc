#include "campaign/measure/open_pair.h"

#include <fmt/format.h>

#include "base/text.h"
#include "campaign/caller.h"
#include "campaign/look/survey.h"
#include "inventory/load.h"

namespace railbed {
namespace {

bool is_local(std::string_view name) { return name == "localhost" || name == "local"; }

// Returns the fleet's targets: one if both ends are the same node.
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

// A node reaches itself over loopback, whatever rails it has.
Result<std::vector<BenchPath>> way_to_itself(const PairChoice& choice) {
  BenchPath path = loopback_path();
  if (choice.rail.empty() || choice.rail == path.rail || choice.rail == path.a.interface)
    return std::vector{std::move(path)};
  return fail(
      ErrorKind::kBadInput,
      fmt::format(
          "--rail {}: {} reaches itself over {} and no other rail; leave --rail out, or name two nodes",
          printable(choice.rail), choice.a, path.rail));
}

// Returns the paths that cluster.yaml describes, before any connection; none without a cluster.
Result<std::vector<BenchPath>> described_ways(const PairChoice& choice, const Cluster* cluster) {
  if (cluster != nullptr && !choice.rail.empty() && find_rail(*cluster, choice.rail) == nullptr)
    return fail(no_such_rail(*cluster, choice.rail));
  if (choice.a == choice.b) return way_to_itself(choice);
  if (cluster != nullptr) return rails_between(*cluster, choice.a, choice.b, choice.rail);
  return std::vector<BenchPath>();
}

// Returns the best path according to the facts.
Result<std::vector<BenchPath>> shared_way(const PairChoice& choice, const Facts& a, const Facts& b) {
  auto path = path_between(a, choice.a, b, choice.b, choice.rail);
  if (!path) return tl::unexpected<Error>(path.error());
  return std::vector{*path};
}

Result<OpenPair> open(const PairChoice& choice, const Cluster* cluster, fleet::FleetOptions options,
                      const Caller& caller) {
  auto nodes = targets(choice, cluster);
  if (!nodes) return tl::unexpected<Error>(nodes.error());
  auto ways = described_ways(choice, cluster);
  if (!ways) return tl::unexpected<Error>(ways.error());
  if (cluster != nullptr) options.ssh_config = cluster->ssh_config;
  OpenPair pair{fleet::Fleet(std::move(*nodes), std::move(options)), {}, {}, {}};
  auto a = look_at(pair.a(), caller);
  if (!a) return tl::unexpected<Error>(a.error());
  auto b = &pair.a() == &pair.b() ? a : look_at(pair.b(), caller);
  if (!b) return tl::unexpected<Error>(b.error());
  if (ways->empty()) ways = shared_way(choice, *a, *b);
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

#include "campaign/change/rail_proof.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "bench/path/explain.h"
#include "campaign/measure/neighbours.h"

namespace railbed {
namespace {

const SeenFault* find_path(const RailsSeen& seen, const RailFault& path) {
  const auto found = std::ranges::find_if(seen.faults, [&](const SeenFault& one) {
    return one.fault.rail == path.rail && one.fault.from == path.from && one.fault.to == path.to;
  });
  return found == seen.faults.end() ? nullptr : &*found;
}

// Returns the rail with the ports of these nodes only.
Rail ports_among(const Rail& rail, const std::vector<std::string>& nodes) {
  Rail part = rail;
  std::erase_if(part.ports,
                [&](const RailPort& port) { return std::ranges::find(nodes, port.node) == nodes.end(); });
  return part;
}

// Returns true if the change is to make the port work. NCCL's settings name ports, too, but only use them;
// a subnet manager makes the ports of all nodes active.
bool is_for(const NodeChange& change, const std::string& node, const Rail& rail, const RailPort& port) {
  if (change.section == Section::kOpensm) return rail.fabric == Fabric::kInfiniband;
  return change.section != Section::kNccl && port.node == node &&
         std::ranges::find(change.subjects, port.interface) != change.subjects.end();
}

}  // namespace

RailsSeen look_at_rails(const Cluster& cluster, const std::vector<std::string>& nodes,
                        const std::function<Peer*(const std::string& node)>& peer_of,
                        const std::stop_token& stop) {
  RailsSeen seen;
  for (const Rail& rail : cluster.rails) {
    const auto end_of = [&](const std::string& node) {
      const auto port = std::ranges::find(rail.ports, node, &RailPort::node);
      return PairEnd{peer_of(node), port->interface, port->address, nullptr};
    };
    for (const auto& round : neighbour_rounds(ports_among(rail, nodes))) {
      std::vector<std::jthread> looking;
      std::mutex mutex;
      for (const Pair& pair : round) {
        ++seen.paths;
        looking.emplace_back([&, pair, a = end_of(pair.from), b = end_of(pair.to)] {
          auto fault = find_path_fault(a, b, rail.fabric != Fabric::kEthernet, stop);
          if (!fault) return;
          const std::lock_guard guard(mutex);
          seen.faults.push_back(
              {{rail.name, pair.from, pair.to, fault->root.cause, fault->remedy}, fault->root.layer});
        });
      }
    }
  }
  return seen;
}

RailsSeen seen_twice(const RailsSeen& first, const RailsSeen& second) {
  RailsSeen both{first.paths, {}};
  for (const SeenFault& one : second.faults)
    if (const SeenFault* earlier = find_path(first, one.fault))
      both.faults.push_back({one.fault, std::min(earlier->layer, one.layer)});
  return both;
}

ConcernedRails::ConcernedRails(const Cluster& cluster, const ClusterPlan& plan) {
  for (const NodePlan& node : plan.nodes)
    for (const NodeChange& change : node.changes)
      for (const Rail& rail : cluster.rails)
        for (const RailPort& port : rail.ports)
          if (change.held.empty() && is_for(change, node.node, rail, port))
            ends_.emplace(port.node, rail.name);
}

bool ConcernedRails::contain(const RailFault& fault) const {
  return ends_.contains({fault.from, fault.rail}) || ends_.contains({fault.to, fault.rail});
}

RailsJudged judge_rails(const RailsSeen& before, const RailsSeen& after, const ConcernedRails& concerned) {
  RailsJudged judged;
  for (const SeenFault& now : after.faults) {
    const SeenFault* then = find_path(before, now.fault);
    const bool old = then != nullptr && then->layer != PathLayer::kNone && now.layer >= then->layer &&
                     !concerned.contain(now.fault);
    (old ? judged.old : judged.broken).push_back(now.fault);
  }
  return judged;
}

}  // namespace railbed

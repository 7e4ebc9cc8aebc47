// Two connected nodes, their facts, and the paths between them: the start of every benchmark of a pair.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/pairs/measure.h"
#include "campaign/caller.h"
#include "campaign/measure/pair_ways.h"
#include "facts/facts.h"
#include "fleet/fleet.h"

namespace railbed {

struct PairChoice {
  std::string a;        // an ssh destination, a node of the cluster, or localhost
  std::string b;        // the same as `a`: this node with itself
  std::string cluster;  // cluster.yaml; empty: none
  std::string rail;     // only this rail; without a cluster, this interface of a; empty: any
};

struct OpenPair {
  fleet::Fleet fleet;
  Facts facts_a;
  Facts facts_b;
  std::vector<BenchPath> ways;

  Peer& a() { return fleet.peer(0); }
  Peer& b() { return fleet.peer(fleet.size() - 1); }
  PairEnd end_a(const BenchPath& way) {
    return {&a(), way.a.interface, way.a.address, &facts_a, way.switched};
  }
  PairEnd end_b(const BenchPath& way) {
    return {&b(), way.b.interface, way.b.address, &facts_b, way.switched};
  }
};

// Connects to both nodes, reads their facts and finds the paths. Fails if a node does not respond or there is
// no path.
Result<OpenPair> open_pair(const PairChoice& choice, fleet::FleetOptions options, const Caller& caller);

}  // namespace railbed

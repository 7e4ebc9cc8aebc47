// Two nodes, reached and looked at, and the ways between them: what every bench of a pair begins with.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/pairs/measure.h"
#include "campaign/caller.h"
#include "campaign/pair_ways.h"
#include "facts/facts.h"
#include "fleet/fleet.h"

namespace railbed {

struct PairChoice {
  std::string a;        // an ssh destination, a node of the cluster, or localhost
  std::string b;        // the same as `a`: this node with itself
  std::string cluster;  // cluster.yaml; empty: none
  std::string rail;     // this one only; without a cluster, this interface of a; empty: any
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

Result<OpenPair> open_pair(const PairChoice& choice, fleet::FleetOptions options, const Caller& caller);

}  // namespace railbed

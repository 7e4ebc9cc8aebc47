// A first cluster.yaml from what live nodes show.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

// The addresses that ssh reaches a node by, by its name.
using SshAddresses = std::map<std::string, std::vector<IpAddress>>;

struct Proposal {
  Cluster cluster;
  std::vector<std::string> notes;  // what was left out or guessed, for the person who edits the file next
};

// `nodes` says who they are and how they are reached; facts are by node name. Interfaces become rails where
// they share a subnet across nodes: the RDMA-capable ones if there are any, else the fastest there are; never
// the one with the default route, nor, where a node has none, the one that ssh comes by, never a bridge or a
// bond member. Expectations are what every node shows.
Proposal propose_cluster(std::vector<Node> nodes, const std::map<std::string, Facts>& facts,
                         const SshAddresses& reached = {});

}  // namespace railbed

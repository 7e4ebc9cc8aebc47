// Proposes a first cluster.yaml from the facts of live nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

// The addresses that ssh reaches a node by; the key is the node's name.
using SshAddresses = std::map<std::string, std::vector<IpAddress>>;

struct Proposal {
  Cluster cluster;
  std::vector<std::string> notes;  // what was left out or guessed, for the next editor of the file
};

// `nodes` are the nodes and how to reach them; facts are by node name. Interfaces that share a subnet across
// nodes become rails: only the RDMA-capable ones if there are any, else all. Left out are the interface with
// the default route (or, on a node without one, the one that ssh uses), members of bonds and bridges, and the
// bridges of container engines. Expectations are what every node shows.
Proposal propose_cluster(std::vector<Node> nodes, const std::map<std::string, Facts>& facts,
                         const SshAddresses& reached = {});

}  // namespace railbed

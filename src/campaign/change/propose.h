// Proposes a first cluster.yaml from the facts of live nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/look/cables.h"
#include "facts/facts.h"
#include "inventory/cluster.h"
#include "model/cables.h"

namespace railbed {

// The addresses that ssh reaches a node by; the key is the node's name.
using SshAddresses = std::map<std::string, std::vector<IpAddress>>;

struct Proposal {
  Cluster cluster;
  Cabling cabling;                  // the cables that were seen; `notes` has its notes, too
  std::vector<std::string> cables;  // a line for each rail that follows a cable: "rail0: ens6 of gpu1 - …"
  std::vector<std::string> notes;   // what was left out or guessed, for the next editor of the file
};

// Returns the ports whose cables are worth a look, and each node's management ports beside them: `named` ports
// ("ens6" on every node, "gpu1:ens6" on one), else the RDMA-capable ones of a node, else its Ethernet ports on
// PCI of at least 10 Gb/s. Left out are VLANs, and what propose_cluster() leaves out. Fails if a named port
// does not exist.
Result<std::vector<CableAsk>> ports_to_ask(const std::vector<Node>& nodes,
                                           const std::map<std::string, Facts>& facts,
                                           const SshAddresses& reached,
                                           const std::vector<std::string>& named = {});

// `nodes` are the nodes and how to reach them; facts are by node name. Interfaces that share a subnet across
// nodes become rails: only the RDMA-capable ones if there are any, else all. Left out are the interface with
// the default route (or, on a node without one, the one that ssh uses), members of bonds and bridges, and the
// bridges of container engines. Expectations are what every node shows.
// Ports without an address become rails by the cables that were seen, with subnets that overlap no address and
// no route of any node, and with the largest MTU up to 9000 that both ends accept.
Proposal propose_cluster(std::vector<Node> nodes, const std::map<std::string, Facts>& facts,
                         const SshAddresses& reached = {}, const CablesSeen& cables = {});

}  // namespace railbed

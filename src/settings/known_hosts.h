// The nodes' host keys for /etc/ssh/ssh_known_hosts of one node: each under the name that HostKeyAlias
// (ClusterWide::host_key_aliases) assigns to all names of its node.
#pragma once

#include <string>
#include <vector>

#include "settings/target.h"

namespace railbed {

// The desired lines, and how they differ from what the node knows.
struct KnownHostsWish {
  std::string lines;                   // of the block; empty if no key is known
  std::size_t known = 0;               // number of nodes that have lines
  std::vector<std::string> unread;     // nodes whose keys were not read: their present lines stay
  std::vector<std::string> strangers;  // nodes with a key that this node does not know yet
  // One text for each node whose keys differ from those that this node knows, with both fingerprints. It may
  // be a reinstalled machine or another one in its place: a person has to decide.
  std::vector<std::string> changed;
};

KnownHostsWish known_hosts_for(const Target& target);

}  // namespace railbed

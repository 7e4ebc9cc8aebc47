// The nodes' host keys as /etc/ssh/ssh_known_hosts of one node shall have them: each under the name that
// HostKeyAlias (ClusterWide::host_key_aliases) gives to all names of its node.
#pragma once

#include <string>
#include <vector>

#include "settings/target.h"

namespace railbed {

struct KnownHostsWish {
  std::string lines;                   // of the block; empty: no key is known
  std::size_t known = 0;               // nodes that have lines
  std::vector<std::string> unread;     // whose keys nobody has read: lines of theirs that are there stay
  std::vector<std::string> strangers;  // whose key the node does not know yet
  // Nodes that the node knows by other keys than they have, with both fingerprints. A reinstalled machine,
  // or another one in its place: a person has to tell.
  std::vector<std::string> changed;
};

KnownHostsWish known_hosts_for(const Target& target);

}  // namespace railbed

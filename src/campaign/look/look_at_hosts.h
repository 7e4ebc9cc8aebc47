// Collects facts of hosts that are not yet described, as the basis of a first cluster.yaml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/change/propose.h"
#include "campaign/reach.h"
#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

// The nodes and facts, from any source.
struct LookedAt {
  std::vector<Node> nodes;
  std::map<std::string, Facts> facts;
  SshAddresses reached;  // the addresses that ssh connects to
  bool complete = true;  // every named host responded
};

// `hosts` are lists (named_hosts() in inventory/hostlist.h) of ssh destinations and localhost. A host that does not
// respond is reported as a note and left out. Fails if none responds.
Result<LookedAt> look_at_hosts(const std::vector<std::string>& hosts, ReachOptions reach,
                               const Caller& caller);
// Reads files that `railbed facts --json` wrote, one node each.
Result<LookedAt> look_at_facts_files(const std::vector<std::string>& files);
// Reads captured machines, as open_nodes() opens them (host/open.h). Notes files that are not read.
Result<LookedAt> look_at_tree(const std::string& root, const Caller& caller);

}  // namespace railbed

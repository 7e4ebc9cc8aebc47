// Looks at hosts of which nothing is known yet: what a first cluster.yaml is made of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "campaign/propose.h"
#include "campaign/reach.h"
#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

// What was seen, from wherever it came.
struct LookedAt {
  std::vector<Node> nodes;
  std::map<std::string, Facts> facts;
  SshAddresses reached;  // where ssh connects to
  bool complete = true;  // every host that was named answered
};

// ssh destinations, ranges of them like gpu[01-64], localhost. Who does not answer is noted and left out.
Result<LookedAt> look_at_hosts(const std::vector<std::string>& hosts, ReachOptions reach,
                               const Caller& caller);
// What `railbed facts --json` printed, a file each.
Result<LookedAt> look_at_facts_files(const std::vector<std::string>& files);
// Captured machines: a folder of trees, a tree, or a folder like /.
Result<LookedAt> look_at_tree(const std::string& root);

}  // namespace railbed

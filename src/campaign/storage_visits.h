// Which folders of which nodes a measurement of storage visits.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"

namespace railbed {

// A node's folders, measured one after the other: they may lie on one drive.
struct StorageVisit {
  fleet::Target target;
  std::vector<std::string> folders;
};

struct StorageVisits {
  std::vector<StorageVisit> nodes;
  std::string ssh_config;  // of the cluster that names them; empty: the user's own
};

// `where`: folders, DIR of this machine or NODE:/DIR; none is the current one. Or one cluster.yaml, whose
// nodes are visited at `folder`, else where their checkpoints go.
Result<StorageVisits> find_storage_visits(std::vector<std::string> where, const std::string& folder);

}  // namespace railbed

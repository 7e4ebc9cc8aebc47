// The folders and nodes that a measurement of storage covers.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"

namespace railbed {

// A node's folders. They are measured one after the other, because they may be on one drive.
struct StorageVisit {
  fleet::Target target;
  std::vector<std::string> folders;
};

struct StorageVisits {
  std::vector<StorageVisit> nodes;
  std::string ssh_config;  // ssh configuration of the cluster; empty: the user's own
};

// Parses `where`: folders, written as DIR of this machine or NODE:/DIR, where NODE may be a list such as
// gpu[01-04] (inventory/hostlist.h); the current folder if empty. Or one cluster.yaml, whose nodes are measured
// at `folder` or, if that is empty, in their checkpoint folders.
Result<StorageVisits> find_storage_visits(std::vector<std::string> where, const std::string& folder);

}  // namespace railbed

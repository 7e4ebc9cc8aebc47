// The interfaces over which two nodes are measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "facts/facts.h"
#include "inventory/cluster.h"

namespace railbed {

struct BenchEnd {
  std::string interface;
  std::optional<IpAddress> address;
};
struct BenchPath {
  std::string rail;
  BenchEnd a;
  BenchEnd b;
  std::optional<bool> switched = {};  // whether a switch connects them; none if unknown
};

// Returns the rails that have a port on both nodes; only `rail` if it is not empty. Fails if there is none.
Result<std::vector<BenchPath>> rails_between(const Cluster& cluster, std::string_view a, std::string_view b,
                                             std::string_view rail);

// Finds a path without a cluster.yaml: two interfaces with addresses in one subnet. The best pair has no
// default route, then RDMA, then the highest speed; an interface with the default route is used only if there
// is no other. A non-empty `interface` restricts the choice on a. Fails if no subnet is shared.
Result<BenchPath> path_between(const Facts& a, std::string_view node_a, const Facts& b,
                               std::string_view node_b, std::string_view interface);

// Finds the path over the management network: interfaces that belong to no rail and share a subnet, those
// with the default route first; otherwise the interfaces with the default route on both. Its rail is
// kManagement.
Result<BenchPath> management_path(const Cluster& cluster, const Facts& a, std::string_view node_a,
                                  const Facts& b, std::string_view node_b);

// Returns the path from 127.0.0.1 to itself: one machine without a network.
BenchPath loopback_path();

// Parses "4K,64K,1M": bytes, or binary multiples with K or M. Each size is at least 1 and at most 64M.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

}  // namespace railbed

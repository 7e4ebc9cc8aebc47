// Over which interfaces two nodes are measured.
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
  std::optional<bool> switched = {};  // whether a switch is between them; nothing: it is not known
};

// The rails of the cluster that have a port on both nodes; `rail` empty: all of them.
Result<std::vector<BenchPath>> rails_between(const Cluster& cluster, std::string_view a, std::string_view b,
                                             std::string_view rail);

// Without a cluster.yaml: the interfaces with addresses in one subnet, the fastest pair of them, RDMA before
// speed, and the one with the default route only when there is no other. `interface` empty: any of a's.
Result<BenchPath> path_between(const Facts& a, std::string_view node_a, const Facts& b,
                               std::string_view node_b, std::string_view interface);

// Two nodes over the network that they are reached by: interfaces of no rail with addresses in one subnet,
// the ones with the default route first; else what has the default route on both. Its rail is kManagement.
Result<BenchPath> management_path(const Cluster& cluster, const Facts& a, std::string_view node_a,
                                  const Facts& b, std::string_view node_b);

// 127.0.0.1 with itself: what one machine does without a wire.
BenchPath loopback_path();

// "4K,64K,1M": bytes, or with K, M (binary) behind them, at most 64M.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

}  // namespace railbed

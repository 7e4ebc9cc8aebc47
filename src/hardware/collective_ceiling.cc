// The bus bandwidth of a collective is scaled so that it can be compared with the links: it is the rate at
// which a ring through all GPUs would pass data from each to the next. So it cannot exceed the rate of the
// slowest GPU's links, which are its NVLinks or, if it states none, PCIe. This limit does not apply if every
// GPU is alone on its node.
//
// Between nodes it cannot exceed the rate of a node's adapters together, because NCCL runs several rings and
// each may use another adapter (network_ceiling.h).
#include "hardware/collective_ceiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "facts/facts.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_ceilings.h"
#include "hardware/network_ceiling.h"

namespace railbed {

Ceiling collective_ceiling(const CollectiveReport& report, const std::map<std::string, Facts>& facts) {
  Ceiling ceiling;
  std::set<std::string> nodes;
  for (const CollectiveRank& rank : report.ranks) nodes.insert(rank.node);
  if (report.ranks.size() < 2) {
    ceiling.note = "one GPU alone sends nothing";
    return ceiling;
  }
  const bool one_each = nodes.size() == report.ranks.size();
  std::optional<Limit> slowest;
  for (const CollectiveRank& rank : report.ranks) {
    const auto known = facts.find(rank.node);
    if (known == facts.end() || one_each) continue;
    auto limit = nvlink_limit(known->second, rank.gpu.address, rank.node);
    if (!limit && known->second.pci) limit = pcie_limit(*known->second.pci, rank.gpu.address, rank.node);
    if (limit && (!slowest || limit->rate < slowest->rate)) slowest = std::move(limit);
  }
  if (slowest) ceiling.limits.push_back(std::move(*slowest));
  if (nodes.size() > 1)
    for (const std::string& node : nodes)
      if (const auto known = facts.find(node); known != facts.end())
        if (auto limit = network_limit(known->second, node)) ceiling.limits.push_back(std::move(*limit));
  std::ranges::stable_sort(ceiling.limits, {}, &Limit::rate);
  if (ceiling.limits.empty())
    ceiling.note = nodes.size() > 1 ? "no adapter of these nodes states its speed"
                                    : "no link between the GPUs states its speed";
  return ceiling;
}

}  // namespace railbed

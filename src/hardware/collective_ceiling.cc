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
namespace {

// Returns the devices with the GPU's link at full speed. An idle GPU lowers the speed of its link, and a
// collective makes it busy: the highest speed of both ends counts, with the lanes that are connected now.
std::vector<PciDevice> as_if_busy(std::vector<PciDevice> devices, const std::string& gpu) {
  for (PciDevice& device : devices) {
    if (device.address != gpu || !device.link_now || !device.link_max) continue;
    const PciDevice* above = find_pci(devices, device.parent.value_or(""));
    PcieLink link = *device.link_now;
    link.gigatransfers = device.link_max->gigatransfers;
    if (above != nullptr && above->link_max)
      link.gigatransfers = std::min(link.gigatransfers, above->link_max->gigatransfers);
    device.link_now = {link, device.link_max.from()};
    break;
  }
  return devices;
}

}  // namespace

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
    if (!limit && known->second.pci)
      limit = pcie_limit(as_if_busy(*known->second.pci, rank.gpu.address), rank.gpu.address, rank.node);
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

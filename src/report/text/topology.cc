#include "report/text/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "hardware/pci_path.h"

namespace railbed {
namespace {

constexpr const char* kNothing = "No GPU and no RDMA adapter on PCI.\n";
constexpr const char* kLegend =
    "\nPIX  below one PCIe switch          PHB   through the processor's host bridge\n"
    "PXB  through several PCIe switches  NODE  between host bridges of one NUMA node\n"
    "                                    SYS   between NUMA nodes\n";

struct Placed {
  TopologyDevice device;
  const PciDevice* pci;
};

std::vector<Placed> gpus_of(const Facts& facts) {
  std::vector<Placed> found;
  for (const PciDevice& device : *facts.pci)
    if (is_gpu(device))
      found.push_back(
          {{fmt::format("GPU{}", found.size()), device.address, device.numa_node.value_or(-1), true},
           &device});
  return found;
}

// Returns network adapters, named by RDMA device; one without it by its address.
std::vector<Placed> adapters_of(const Facts& facts) {
  std::vector<Placed> found;
  for (const PciDevice& device : *facts.pci) {
    if (!is_network(device) || device.virtual_function.value_or(false)) continue;
    std::string name;
    for (const RdmaDevice& rdma : items(facts.rdma.devices))
      if (rdma.pci_address.value_or("") == device.address) name = rdma.name;
    if (name.empty() && device.vendor.value_or(0) != kVendorMellanox) continue;
    found.push_back(
        {{name.empty() ? device.address : name, device.address, device.numa_node.value_or(-1), false},
         &device});
  }
  return found;
}

std::string path_text(const Facts& facts, const Placed& a, const Placed& b) {
  if (a.pci == b.pci) return "X";
  return std::string(to_text(path_between(*facts.pci, *a.pci, *b.pci)));
}

NearestAdapter nearest_of(const Facts& facts, const Placed& gpu, const std::vector<Placed>& all) {
  NearestAdapter nearest{gpu.device.name, {}, ""};
  PathClass best = PathClass::kSys;
  for (const Placed& placed : all) {
    if (placed.device.gpu) continue;
    const PathClass path = path_between(*facts.pci, *gpu.pci, *placed.pci);
    if (nearest.adapters.empty() || path < best) nearest.adapters.clear();
    if (nearest.adapters.empty()) best = path;
    if (path == best) nearest.adapters.push_back(placed.device.name);
  }
  if (!nearest.adapters.empty()) nearest.path = to_text(best);
  return nearest;
}

}  // namespace

TopologyMatrix topology_of(const Facts& facts) {
  TopologyMatrix matrix;
  if (!facts.pci.ok()) return matrix;
  std::vector<Placed> all = gpus_of(facts);
  std::ranges::move(adapters_of(facts), std::back_inserter(all));
  for (const Placed& row : all) {
    matrix.devices.push_back(row.device);
    auto& paths = matrix.paths.emplace_back();
    for (const Placed& column : all) paths.push_back(path_text(facts, row, column));
    if (row.device.gpu) matrix.nearest.push_back(nearest_of(facts, row, all));
  }
  return matrix;
}

std::string render_topology(const TopologyMatrix& matrix) {
  if (matrix.devices.empty()) return kNothing;
  std::size_t width = 4;
  for (const TopologyDevice& device : matrix.devices) width = std::max(width, device.name.size());
  std::string out;
  const auto write = std::back_inserter(out);
  fmt::format_to(write, "{:<{}}", "", width);
  for (const TopologyDevice& device : matrix.devices) fmt::format_to(write, "  {:<{}}", device.name, width);
  fmt::format_to(write, "  NUMA  PCI\n");
  for (std::size_t row = 0; row < matrix.devices.size(); ++row) {
    fmt::format_to(write, "{:<{}}", matrix.devices[row].name, width);
    for (const std::string& path : matrix.paths[row]) fmt::format_to(write, "  {:<{}}", path, width);
    const TopologyDevice& device = matrix.devices[row];
    fmt::format_to(write, "  {:<4}  {}\n", device.numa_node < 0 ? "-" : std::to_string(device.numa_node),
                   device.pci_address);
  }
  bool any = false;
  for (const NearestAdapter& adapter : matrix.nearest) {
    if (adapter.adapters.empty()) continue;
    fmt::format_to(write, "{}{} is nearest to {} ({})\n", any ? "" : "\n", adapter.gpu,
                   fmt::join(adapter.adapters, ", "), adapter.path);
    any = true;
  }
  return out + kLegend;
}

}  // namespace railbed

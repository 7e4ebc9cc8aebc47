#include "report/text/node_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/wording.h"
#include "hardware/pci_link.h"

namespace railbed {
namespace {

std::string adapter_text(const GraphAdapter& adapter) {
  BitRate rate;
  for (const GraphPort& port : adapter.ports) rate = std::max(rate, port.rate.value_or(BitRate{}));
  return rate > BitRate{} ? fmt::format("{} ({})", adapter.name, to_text(rate)) : adapter.name;
}

// Returns "below its switch A, B" for the adapters at the shortest distance, each list of which holds the one before it.
std::string nearest_text(const NodeGraph& graph, std::size_t gpu) {
  const NearAdapters near = adapters_near(graph, gpu);
  if (near.all.empty()) return "no adapter";
  const auto& nearest = !near.own_switch.empty()   ? near.own_switch
                        : !near.own_socket.empty() ? near.own_socket
                                                   : near.all;
  const std::string_view where = !near.own_switch.empty()   ? "below its switch"
                                 : !near.own_socket.empty() ? "on its socket"
                                                            : "elsewhere, or not known where,";
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(nearest.size(), kMostNamed); ++i)
    names.push_back(adapter_text(graph.adapters[nearest[i]]));
  if (nearest.size() > kMostNamed) names.push_back(fmt::format("{} more", nearest.size() - kMostNamed));
  return fmt::format("{} {}", where, fmt::join(names, ", "));
}

std::string gpu_text(const NodeGraph& graph, std::size_t index) {
  const GraphGpu& gpu = graph.gpus[index];
  std::vector<std::string> parts;
  if (!gpu.model.empty()) parts.push_back(gpu.model);
  if (gpu.c2c.value_or(false)) parts.emplace_back("NVLink-C2C to its processor");
  parts.push_back(gpu.up.link ? to_text(*gpu.up.link) : "lanes not known");
  if (gpu.up.socket)
    parts.push_back(
        fmt::format("NUMA node {}", graph.sockets[static_cast<std::size_t>(*gpu.up.socket)].numa_node));
  if (gpu.nvlinks) parts.push_back(counted(static_cast<std::size_t>(*gpu.nvlinks), "NVLink"));
  if (gpu.mig.value_or(false)) parts.emplace_back("MIG");
  if (gpu.gpudirect && !*gpu.gpudirect) parts.emplace_back("no GPUDirect RDMA");
  return fmt::format("  {:<6} {}  {}; {}\n", gpu.name, gpu.address, fmt::join(parts, ", "),
                     nearest_text(graph, index));
}

}  // namespace

std::string render_node_graph(const NodeGraph& graph) {
  constexpr std::size_t kMostShown = 64;
  const auto switches =
      static_cast<std::size_t>(std::ranges::count(graph.bridges, true, &GraphBridge::is_switch));
  std::string text = fmt::format(
      "{}{}{}: {}, {}, {}, {}\n", graph.node, graph.node.empty() ? "" : ", ", graph.source,
      counted(graph.gpus.size(), "GPU"), counted(graph.adapters.size(), "adapter"),
      counted(graph.sockets.size(), "NUMA node"), counted(switches, "PCIe switch", "PCIe switches"));
  for (std::size_t i = 0; i < std::min(graph.gpus.size(), kMostShown); ++i) text += gpu_text(graph, i);
  if (graph.gpus.size() > kMostShown) text += fmt::format("  {} more GPUs\n", graph.gpus.size() - kMostShown);
  return text;
}

}  // namespace railbed

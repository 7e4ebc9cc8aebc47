#include "inventory/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"
#include "inventory/hostlist.h"

namespace railbed {
namespace {

template <class Enum>
std::string_view word(Enum value) {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

std::string join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

std::string describe(const Rail& rail) {
  std::vector<std::string> parts = {fmt::format("{} {}", word(rail.fabric), word(rail.topology))};
  if (rail.purpose == RailPurpose::kStorage) parts.emplace_back("for storage");
  if (rail.speed) parts.push_back(to_text(*rail.speed));
  if (rail.mtu) parts.push_back(fmt::format("MTU {}", *rail.mtu));
  if (rail.subnet) parts.push_back(rail.subnet->to_text());
  if (!rail.rdma_driver.empty()) parts.push_back("software RDMA " + rail.rdma_driver);
  std::vector<std::string> interfaces;
  for (const RailPort& port : rail.ports)
    if (interfaces.empty() || interfaces.back() != port.interface) interfaces.push_back(port.interface);
  std::sort(interfaces.begin(), interfaces.end());
  interfaces.erase(std::unique(interfaces.begin(), interfaces.end()), interfaces.end());
  parts.push_back(fmt::format("{} on {}", counted(rail.ports.size(), "port"), fold_hostlist(interfaces)));
  return join(parts);
}

// "1 switch, 3 cables, 3 servers, 3 adapters, 5 GPUs"
std::string describe_parts(const Cluster& cluster) {
  static constexpr std::string_view kThings[] = {"switch", "cable", "server", "adapter", "GPU"};
  std::size_t counts[std::size(kThings)] = {};
  for (const ClusterPart& part : cluster.parts) {
    const bool inside = part.kind != PartKind::kSwitch && part.kind != PartKind::kCable;
    const std::size_t nodes = !inside ? 1 : part.nodes.empty() ? cluster.nodes.size() : part.nodes.size();
    counts[static_cast<std::size_t>(part.kind)] += nodes * static_cast<std::size_t>(part.quantity);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::size(kThings); ++i)
    if (counts[i] > 0)
      parts.push_back(i == 0 && counts[i] > 1 ? fmt::format("{} switches", counts[i])
                                              : counted(counts[i], kThings[i]));
  return join(parts);
}

// "home-mounted, fans (as root)"
std::string describe_checks(const Cluster& cluster) {
  std::vector<std::string> checks;
  for (const SiteCheck& check : cluster.checks)
    checks.push_back(check.name + (check.user.empty() ? "" : fmt::format(" (as {})", check.user)));
  return join(checks);
}

// "scratch (/dev/nvme1n1 of store1, nvme-rdma over rail0, to gpu[1-4])"
std::string describe_storage(const Cluster& cluster) {
  std::vector<std::string> exports;
  for (const StorageExport& one : cluster.storage)
    exports.push_back(fmt::format("{} ({} of {}, {} over {}, to {})", one.name, source_of(one), one.server,
                                  enum_names(one.protocol)[static_cast<std::size_t>(one.protocol)], one.rail,
                                  fold_hostlist(one.clients)));
  return join(exports);
}

std::string describe(const Expectations& expect) {
  std::vector<std::string> parts;
  if (expect.gpus) parts.push_back(counted(static_cast<std::size_t>(*expect.gpus), "GPU"));
  if (expect.gpu_model) parts.push_back("GPU model " + *expect.gpu_model);
  if (expect.driver) parts.push_back("NVIDIA driver " + *expect.driver);
  if (expect.cuda) parts.push_back("CUDA " + *expect.cuda);
  if (expect.mig) parts.push_back(*expect.mig ? "MIG on" : "MIG off");
  if (expect.os) parts.push_back(*expect.os);
  if (expect.kernel) parts.push_back("kernel " + *expect.kernel);
  if (expect.bios) parts.push_back("BIOS " + *expect.bios);
  if (expect.firmware)
    for (const auto& [board, version] : *expect.firmware)
      parts.push_back(fmt::format("firmware {} on {}", version, board));
  if (expect.nccl) parts.push_back("NCCL " + *expect.nccl);
  if (expect.memory) parts.push_back(to_text(*expect.memory) + " of memory");
  if (expect.traffic_class) parts.push_back(fmt::format("traffic class {}", *expect.traffic_class));
  if (expect.governor) parts.push_back("governor " + *expect.governor);
  if (expect.socket_buffer) parts.push_back("socket buffers of " + to_text(ByteCount{*expect.socket_buffer}));
  if (expect.subnet_manager) parts.push_back(*expect.subnet_manager ? "subnet manager" : "no subnet manager");
  if (expect.checkpoint_path) parts.push_back("checkpoints in " + *expect.checkpoint_path);
  if (expect.venv) parts.push_back("PyTorch in " + *expect.venv);
  if (expect.container)
    parts.push_back("container of " + *expect.container +
                    (expect.container_runtime ? " by " + *expect.container_runtime : ""));
  if (expect.cuda_toolkit) parts.push_back("CUDA toolkit " + *expect.cuda_toolkit);
  if (expect.mpi.value_or(false)) parts.push_back("mpicc");
  if (expect.gpudirect_storage.value_or(false)) parts.push_back("GPUDirect Storage");
  parts.push_back(fmt::format("at least {:.0f} % of each ceiling", expect.fraction_of_ceiling * 100));
  return join(parts);
}

// Nodes with the same expectations.
struct Kind {
  std::string expectation;
  std::vector<std::string> nodes;
};

// Groups the nodes by their expectations, in the order in which these first occur.
std::vector<Kind> kinds_of(const Cluster& cluster) {
  std::vector<Kind> kinds;
  for (const Node& node : cluster.nodes) {
    const std::string expectation = describe(node.expect);
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& kind) { return kind.expectation == expectation; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {expectation, {}});
    kind->nodes.push_back(node.name);
  }
  return kinds;
}

// Returns a list cut to 90 characters and "…" if it is longer.
std::string shortened(std::string text) {
  constexpr std::size_t kWidth = 90;
  if (text.size() <= kWidth) return text;
  return text.substr(0, std::min(text.rfind(", ", kWidth), kWidth)) + ", …";
}

}  // namespace

std::string describe(const Cluster& cluster) {
  constexpr std::size_t kKinds = 8;
  std::vector<std::pair<std::string, std::string>> rows;
  std::vector<std::string> names;
  for (const Node& node : cluster.nodes) names.push_back(node.name);
  rows.emplace_back("nodes", shortened(fold_hostlist(names)));
  for (const Rail& rail : cluster.rails) rows.emplace_back(rail.name, describe(rail));
  if (!cluster.parts.empty()) rows.emplace_back("parts", describe_parts(cluster));
  if (!cluster.checks.empty()) rows.emplace_back("checks", describe_checks(cluster));
  if (!cluster.storage.empty()) rows.emplace_back("storage", describe_storage(cluster));
  const std::vector<Kind> kinds = kinds_of(cluster);
  for (std::size_t i = 0; i < std::min(kinds.size(), kKinds); ++i)
    rows.emplace_back(
        "expected",
        kinds[i].expectation + (kinds.size() == 1 ? "" : ": " + shortened(fold_hostlist(kinds[i].nodes))));
  if (kinds.size() > kKinds)
    rows.emplace_back("", fmt::format("… and {} more", counted(kinds.size() - kKinds, "kind")));
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string text = fmt::format("{}: {}, {}\n", cluster.name, counted(cluster.nodes.size(), "node"),
                                 counted(cluster.rails.size(), "rail"));
  for (const auto& [name, what] : rows) text += fmt::format("  {:<{}}  {}\n", name, width, what);
  return text;
}

}  // namespace railbed

// Checks the MIG instances that cluster.yaml describes, by the GPUs that it names.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "hardware/mig.h"
#include "inventory/hostlist.h"
#include "verify/parts_fit.h"

namespace railbed {
namespace {

constexpr std::string_view kProfilesSource = "NVIDIA MIG user guide, \"Supported MIG Profiles\"";
constexpr std::string_view kPeersSource =
    "NVIDIA MIG user guide, \"Application Considerations\"; github.com/NVIDIA/nccl/issues/1716";
constexpr std::string_view kFileSource = "what cluster.yaml says";

// A finding before the nodes that have it are known.
struct MigFault {
  FitSeverity severity;
  std::string message;
  std::string_view source;
  auto operator<=>(const MigFault&) const = default;
};

bool is_on_rdma_rail(const Cluster& cluster, const Node& node) {
  return std::ranges::any_of(cluster.rails, [&](const Rail& rail) {
    return rail.fabric != Fabric::kEthernet && rail.purpose != RailPurpose::kStorage &&
           find_port(rail, node.name) != nullptr;
  });
}

// Returns why none of the models can have the instances; empty if one can.
std::string fault_of_all(const std::vector<std::string>& models, const MigInstances& instances) {
  std::string first;
  for (const std::string& model : models) {
    std::string fault = mig_fault(model, instances);
    if (fault.empty()) return "";
    if (first.empty()) first = std::move(fault);
  }
  return first;
}

std::set<MigFault> faults_of(const Cluster& cluster, const Node& node) {
  std::set<MigFault> faults;
  const auto models = gpu_models_of(cluster, node);
  for (const MigLayout& layout : *node.configure.mig) {
    if (std::string fault = fault_of_all(models, layout.instances); !fault.empty())
      faults.insert({FitSeverity::kError, std::move(fault), kProfilesSource});
    for (const int gpu : layout.gpus)
      if (node.expect.gpus && gpu >= *node.expect.gpus)
        faults.insert(
            {FitSeverity::kError,
             fmt::format("configure.mig describes GPU {}, and expect.gpus is {}: the first is GPU 0", gpu,
                         *node.expect.gpus),
             kFileSource});
  }
  if (node.configure.mig->empty()) return faults;
  if (node.expect.mig == false)
    faults.insert(
        {FitSeverity::kError, "expect.mig is false, and configure.mig describes instances", kFileSource});
  if (is_on_rdma_rail(cluster, node))
    faults.insert({FitSeverity::kWarning,
                   "rails with RDMA join it to other nodes, and MIG instances have neither peer-to-peer nor "
                   "NVLink, and are one GPU to NCCL: jobs over several GPUs need GPUs without instances",
                   kPeersSource});
  return faults;
}

}  // namespace

std::vector<std::string> gpu_models_of(const Cluster& cluster, const Node& node) {
  if (node.expect.gpu_model) return {*node.expect.gpu_model};
  std::vector<std::string> models;
  for (const ClusterPart& part : cluster.parts)
    if (part.kind == PartKind::kGpu && is_on_node(part, node.name)) models.push_back(part.model);
  if (models.empty()) models.emplace_back();
  return models;
}

std::vector<FitFinding> check_mig(const Cluster& cluster) {
  std::map<MigFault, std::vector<std::string>> nodes;
  for (const Node& node : cluster.nodes)
    if (node.configure.mig)
      for (const MigFault& fault : faults_of(cluster, node)) nodes[fault].push_back(node.name);
  std::vector<FitFinding> findings;
  for (const auto& [fault, names] : nodes)
    findings.push_back({fault.severity, 0, fmt::format("{}: {}", fold_hostlist(names), fault.message),
                        std::string(fault.source)});
  std::ranges::stable_sort(findings, std::greater(), &FitFinding::severity);
  return findings;
}

}  // namespace railbed

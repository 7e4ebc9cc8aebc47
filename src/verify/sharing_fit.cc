// Checks how GPUs are shared (`configure.gpu_sharing`), by the GPUs and the MIG instances that cluster.yaml names.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/gpu_product.h"
#include "inventory/hostlist.h"
#include "verify/parts_fit.h"

namespace railbed {
namespace {

constexpr std::string_view kPluginSource = "github.com/NVIDIA/k8s-device-plugin, README, \"With CUDA MPS\"";
constexpr std::string_view kClientsSource =
    "github.com/NVIDIA/k8s-device-plugin, cmd/mps-control-daemon/mps/device.go";
constexpr std::string_view kMpsSource = "docs.nvidia.com/deploy/mps";
constexpr std::string_view kSharingFileSource = "what cluster.yaml says";
constexpr int kFirstWithMps = 35;      // compute capability
constexpr int kFirstWithLimits = 70;   // Volta
constexpr int kFirstWithClients = 75;  // as the device plugin compares
constexpr int kMostClients = 48;
constexpr int kMostClientsBefore = 16;

struct SharingFault {
  std::string message;
  std::string_view source;
  auto operator<=>(const SharingFault&) const = default;
};

bool is_cut(const Node& node) {
  return (node.configure.mig && !node.configure.mig->empty()) || node.expect.mig.value_or(false);
}

void add_mps_faults(const Node& node, const GpuSharing& sharing, const std::vector<std::string>& models,
                    std::vector<SharingFault>& faults) {
  if (is_cut(node))
    faults.push_back(
        sharing.replicas
            ? SharingFault{"Kubernetes' device plugin shares no MIG instances by MPS: use time slices, or "
                           "leave the GPUs whole",
                           kPluginSource}
            : SharingFault{"each MIG instance needs an MPS daemon of its own, and railbed starts one for "
                           "whole GPUs: leave one of the two out",
                           kMpsSource});
  int most = kMostClients;
  for (const std::string& model : models) {
    const GpuProduct* product = find_gpu_product(model);
    if (product == nullptr) continue;
    if (product->capability < kFirstWithMps)
      faults.push_back({fmt::format("{} has no MPS, which begins with compute capability 3.5", product->name),
                        kMpsSource});
    if (product->capability < kFirstWithLimits && (sharing.active_threads || sharing.pinned_memory))
      faults.push_back(
          {fmt::format("MPS limits no program on {}: active_threads and pinned_memory begin with Volta",
                       product->name),
           kMpsSource});
    if (product->capability < kFirstWithClients) most = kMostClientsBefore;
    constexpr std::int64_t kGib = std::int64_t{1} << 30;
    if (sharing.pinned_memory && product->memory_gb > 0 &&
        static_cast<std::int64_t>(sharing.pinned_memory->bytes) > product->memory_gb * kGib)
      faults.push_back({fmt::format("pinned_memory is {}, and {} has {} GB: it limits nothing",
                                    to_text(*sharing.pinned_memory), product->name, product->memory_gb),
                        kSharingFileSource});
  }
  if (sharing.replicas.value_or(0) > most)
    faults.push_back(
        {fmt::format("Kubernetes' device plugin takes {} replicas of a GPU by MPS at most, not {}", most,
                     *sharing.replicas),
         kClientsSource});
}

std::vector<SharingFault> faults_of(const Cluster& cluster, const Node& node) {
  std::vector<SharingFault> faults;
  const GpuSharing& sharing = *node.configure.gpu_sharing;
  if (sharing.method == SharingMethod::kNone) return faults;
  if (sharing.method == SharingMethod::kMps)
    add_mps_faults(node, sharing, gpu_models_of(cluster, node), faults);
  else if (is_cut(node) && !node.configure.mig)
    faults.push_back(
        {"expect.mig is true, and no configure.mig names the instances: which of Kubernetes' resources are "
         "to be shared is not known",
         kSharingFileSource});
  if (node.expect.gpus == 0)
    faults.push_back({"expect.gpus is 0, and configure.gpu_sharing shares GPUs", kSharingFileSource});
  return faults;
}

}  // namespace

std::vector<FitFinding> check_sharing(const Cluster& cluster) {
  std::map<SharingFault, std::vector<std::string>> nodes;
  for (const Node& node : cluster.nodes)
    if (node.configure.gpu_sharing)
      for (const SharingFault& fault : faults_of(cluster, node)) nodes[fault].push_back(node.name);
  std::vector<FitFinding> findings;
  for (const auto& [fault, names] : nodes)
    findings.push_back({FitSeverity::kError, 0, fmt::format("{}: {}", fold_hostlist(names), fault.message),
                        std::string(fault.source)});
  return findings;
}

}  // namespace railbed

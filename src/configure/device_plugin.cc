// github.com/NVIDIA/k8s-device-plugin, README: "Shared Access to GPUs", "Multiple Config File Example", "Updating Per-Node
// Configuration With a Node Label"; docs.nvidia.com, GPU Operator, "Time-Slicing GPUs in Kubernetes".
#include "configure/device_plugin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "verify/parts_fit.h"

namespace railbed {
namespace {

constexpr std::string_view kUnshared = "unshared";

// The resources of one node that are to be shared: whole GPUs, and MIG instances by their profiles.
struct SharedResources {
  bool whole = true;
  std::set<std::string> profiles = {};
};

SharedResources resources_of(const Node& node) {
  SharedResources resources;
  if (!node.configure.mig || node.configure.mig->empty()) return resources;
  std::size_t cut = 0;
  for (const MigLayout& layout : *node.configure.mig) {
    cut += layout.gpus.size();
    if (layout.gpus.empty()) resources.whole = false;  // all of them
    for (const auto& [profile, count] : layout.instances) resources.profiles.insert(profile);
  }
  if (node.expect.gpus && cut >= static_cast<std::size_t>(*node.expect.gpus)) resources.whole = false;
  return resources;
}

// internal/rm/rm.go: Kubernetes allows no plus in a resource's name.
std::string resource_name(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return "nvidia.com/mig-" + profile;
}

std::string shared_config(const GpuSharing& sharing, const SharedResources& resources) {
  const bool mps = sharing.method == SharingMethod::kMps;
  std::string text = "version: v1\n";
  if (!resources.profiles.empty()) text += "flags:\n  migStrategy: mixed\n";
  text += fmt::format("sharing:\n  {}:\n    renameByDefault: true\n", mps ? "mps" : "timeSlicing");
  // Two slices are no faster than one, so a request for more than one fails. MPS always behaves so.
  if (!mps) text += "    failRequestsGreaterThanOne: true\n";
  text += "    resources:\n";
  const auto add = [&](const std::string& name) {
    text += fmt::format("      - name: {}\n        replicas: {}\n", name, *sharing.replicas);
  };
  if (resources.whole) add("nvidia.com/gpu");
  for (const std::string& profile : resources.profiles) add(resource_name(profile));
  return text;
}

std::string unshared_config(const Cluster& cluster) {
  const bool cut = std::ranges::any_of(
      cluster.nodes, [](const Node& node) { return node.configure.mig && !node.configure.mig->empty(); });
  return cut ? "version: v1\nflags:\n  migStrategy: mixed\n" : "version: v1\n";
}

std::string indented(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    all += fmt::format("    {}\n", text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return all;
}

// Configurations by their text, with the nodes that have each, in the order of the file.
struct PluginConfig {
  std::string name;
  std::string text;
  std::vector<std::string> nodes;
};

std::vector<PluginConfig> configs_of(const Cluster& cluster) {
  std::vector<PluginConfig> configs;
  std::map<std::string, int> used;
  for (const Node& node : cluster.nodes) {
    const auto& sharing = node.configure.gpu_sharing;
    if (!sharing || !sharing->is_of_kubernetes()) continue;
    std::string text = shared_config(*sharing, resources_of(node));
    auto found = std::ranges::find(configs, text, &PluginConfig::text);
    if (found == configs.end()) {
      std::string name =
          fmt::format("{}-{}", enum_names(sharing->method)[static_cast<std::size_t>(sharing->method)],
                      *sharing->replicas);
      if (const int count = ++used[name]; count > 1) name += fmt::format("-{}", count);
      found = configs.insert(configs.end(), {std::move(name), std::move(text), {}});
    }
    found->nodes.push_back(node.name);
  }
  return configs;
}

}  // namespace

Result<std::string> device_plugin_manifest(const Cluster& cluster) {
  for (const FitFinding& finding : check_sharing(cluster))
    return fail(ErrorKind::kBadInput, finding.message + "; `railbed check` has all of it");
  const auto configs = configs_of(cluster);
  if (configs.empty())
    return fail(
        ErrorKind::kBadInput,
        "no node has GPUs that Kubernetes is to share: write configure: {gpu_sharing: {method: time-slices, "
        "replicas: 4}}");
  std::string text =
      "# How NVIDIA's device plugin shares GPUs, as cluster.yaml describes it.\n"
      "#   kubectl create namespace nvidia-device-plugin   # if there is none\n"
      "#   kubectl apply -f THIS_FILE\n";
  for (const PluginConfig& config : configs)
    text += fmt::format("#   kubectl label --overwrite node {} nvidia.com/device-plugin.config={}\n",
                        fmt::join(config.nodes, " "), config.name);
  text += fmt::format(
      "#   helm upgrade --install nvdp nvdp/nvidia-device-plugin --namespace nvidia-device-plugin --reuse-values \\\n"
      "#     --set config.name=gpu-sharing --set config.default={0}{1}\n"
      "# With the GPU operator: its namespace in place of nvidia-device-plugin, and devicePlugin.config.name=gpu-sharing,\n"
      "# devicePlugin.config.default={0} of its chart.\n"
      "apiVersion: v1\n"
      "kind: ConfigMap\n"
      "metadata:\n"
      "  name: gpu-sharing\n"
      "  namespace: nvidia-device-plugin\n"
      "data:\n"
      "  {0}: |\n{2}",
      kUnshared,
      std::ranges::any_of(cluster.nodes,
                          [](const Node& node) {
                            return node.configure.gpu_sharing &&
                                   node.configure.gpu_sharing->is_of_kubernetes() &&
                                   node.configure.gpu_sharing->method == SharingMethod::kMps;
                          })
          ? " --set gfd.enabled=true"
          : "",
      indented(unshared_config(cluster)));
  for (const PluginConfig& config : configs)
    text += fmt::format("  {}: |\n{}", config.name, indented(config.text));
  return text;
}

}  // namespace railbed

#include "fleet/kubernetes_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "fleet/frame.h"
#include "fleet/marked_line.h"

namespace railbed::fleet {
namespace {

constexpr std::size_t kMostPods = 100'000;
constexpr std::size_t kLongestSubdomain = 253;
constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestSelector = 1024;

constexpr bool is_lower_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

bool is_rfc1123(std::string_view name, std::size_t longest, std::string_view between) {
  return !name.empty() && name.size() <= longest && is_lower_alphanumeric(name.front()) &&
         is_lower_alphanumeric(name.back()) && std::ranges::all_of(name, [&](char c) {
           return is_lower_alphanumeric(c) || between.find(c) != std::string_view::npos;
         });
}

// The fields of a pod. "{"\n"}" in jsonpath is a line feed. A pod that is not scheduled yet has no nodeName,
// but the DaemonSet names the node in its affinity.
constexpr std::string_view kPodFields[] = {
    ".metadata.name",
    ".spec.nodeName",
    ".spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*]"
    ".matchFields[?(@.key==\"metadata.name\")].values[*]",
    ".spec.containers[0].name",
    ".metadata.deletionTimestamp",
    ".status.phase",
    ".status.conditions[?(@.type==\"Ready\")].status",
    ".status.reason",
    ".status.containerStatuses[*].state.*.reason",
    // Sentences, which may hold bars and line feeds, form one field, the last.
    ".status.containerStatuses[*].state.waiting.message} {.status.conditions[?(@.type==\"PodScheduled\")].message",
};
constexpr std::string_view kNodeFields[] = {
    ".metadata.name",
    ".spec.unschedulable",
    ".status.conditions[?(@.type==\"Ready\")].status",
    ".status.conditions[?(@.type==\"Ready\")].message",
};

template <std::size_t N>
std::string format_of(std::string_view nonce, const std::string_view (&fields)[N]) {
  std::string format = fmt::format("jsonpath={{range .items[*]}}{}", nonce);
  for (const std::string_view field : fields) format += fmt::format("|{{{}}}", field);
  return format + "{\"\\n\"}{end}";
}

// Returns why no agent can be started, with all reasons from the fields; empty if one can.
std::string trouble_of_pod(const std::vector<std::string_view>& fields) {
  if (!fields[4].empty()) return "it is being deleted";
  const bool ready = fields[5] == "Running" && fields[6] == "True";
  if (ready) return "";
  std::string why = fmt::format("phase {}", fields[5].empty() ? "unknown" : quotable(fields[5], 40));
  for (std::size_t i = 7; i < fields.size(); ++i)
    if (!fields[i].empty()) why += fmt::format(", {}", quotable(fields[i], 200));
  return fmt::format("it is not ready ({})", why);
}

std::optional<KubernetesPod> pod_of(const std::vector<std::string_view>& fields) {
  if (fields.empty()) return std::nullopt;
  const std::string_view node = fields[1].empty() ? fields[2] : fields[1];
  if (!is_kubernetes_name(fields[0]) || !is_kubernetes_name(node) || !is_kubernetes_label(fields[3]))
    return std::nullopt;
  std::string trouble = trouble_of_pod(fields);
  if (!trouble.empty())
    trouble = fmt::format("no agent can be started in its pod {}: {}", fields[0], trouble);
  return KubernetesPod{std::string(fields[0]), std::string(node), std::string(fields[3]), std::move(trouble)};
}

}  // namespace

bool is_kubernetes_name(std::string_view name) { return is_rfc1123(name, kLongestSubdomain, "-."); }
bool is_kubernetes_label(std::string_view name) { return is_rfc1123(name, kLongestLabel, "-"); }

bool is_kubernetes_selector(std::string_view selector) {
  return !selector.empty() && selector.size() <= kLongestSelector && !selector.starts_with('-') &&
         std::ranges::all_of(selector, [](char c) {
           return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z') ||
                  std::string_view("-_./=!,() ").find(c) != std::string_view::npos;
         });
}

std::string kubernetes_pod_format(std::string_view nonce) { return format_of(nonce, kPodFields); }
std::string kubernetes_node_format(std::string_view nonce) { return format_of(nonce, kNodeFields); }

std::vector<KubernetesPod> parse_kubernetes_pods(std::string_view text, std::string_view nonce) {
  std::vector<KubernetesPod> pods;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const std::string_view line : lines(text)) {
    auto pod = pod_of(marked_fields(line, nonce, std::size(kPodFields)));
    if (!pod) continue;
    const auto [place, first] = places.emplace(pod->node, pods.size());
    if (!first && (pods[place->second].why_not.empty() || !pod->why_not.empty())) continue;
    if (!first)
      pods[place->second] = std::move(*pod);
    else if (pods.size() < kMostPods)
      pods.push_back(std::move(*pod));
    else
      break;
  }
  return pods;
}

std::vector<KubernetesNode> parse_kubernetes_nodes(std::string_view text, std::string_view nonce) {
  std::vector<KubernetesNode> nodes;
  for (const std::string_view line : lines(text)) {
    const auto fields = marked_fields(line, nonce, std::size(kNodeFields));
    if (fields.empty() || !is_kubernetes_name(fields[0])) continue;
    if (nodes.size() == kMostPods) break;
    KubernetesNode node{std::string(fields[0]), fields[1] == "true", ""};
    if (fields[2] != "True")
      node.not_ready = fmt::format("Kubernetes holds it for not ready ({})",
                                   fields[3].empty() ? "it does not say why" : quotable(fields[3], 200));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string_view kubernetes_remedy(std::string_view said) {
  struct Known {
    std::string_view said;
    std::string_view remedy;
  };
  // phrases of kubectl 1.20 to 1.33
  static constexpr Known kKnown[] = {
      {"localhost:8080",
       "kubectl knows no cluster: choose one with `kubectl config use-context`, or name it with --context or "
       "--kubeconfig"},
      {"context was not found", "`kubectl config get-contexts` lists those that there are"},
      {"does not exist", "`kubectl config get-contexts` lists those that there are"},
      {"no such file", "name the file of your cluster with --kubeconfig"},
      {"Forbidden",
       "whoever runs the cluster has to bind you to the role railbed-agent, "
       "deploy/kubernetes/agent/role.yaml"},
      {"Unauthorized", "log in to the cluster again: your credentials are wrong, or have expired"},
      {"must be logged in", "log in to the cluster again: your credentials are wrong, or have expired"},
      {"nable to connect to the server",
       "see whether `kubectl get pods` reaches it: address, network, certificate"},
      {"connection to the server", "see whether `kubectl get pods` reaches it: address, network"},
  };
  for (const Known& known : kKnown)
    if (said.find(known.said) != std::string_view::npos) return known.remedy;
  return "";
}

}  // namespace railbed::fleet

// What kubectl prints of pods and nodes, as data. We name the fields ourselves (-o jsonpath), by which a
// thousand pods are a few hundred kilobytes; whole objects (-o json) list the images of each node.
//
// All of it is untrusted: a reason may hold any bytes, line feeds too, and jsonpath prints them as they are.
// So each of our lines begins with a nonce that nobody could know who wrote a reason.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed::fleet {

struct KubernetesPod {
  std::string name;
  std::string node;       // that it runs on, or is meant for
  std::string container;  // its first
  std::string why_not;    // no agent can be started in it now; empty: one can
};
// For `kubectl get pods -o`.
std::string kubernetes_pod_format(std::string_view nonce);
// One a node, at most 100,000: one that an agent can be started in, where there is one.
std::vector<KubernetesPod> parse_kubernetes_pods(std::string_view text, std::string_view nonce);

struct KubernetesNode {
  std::string name;
  bool cordoned = false;
  std::string not_ready;  // why; empty: it is ready
};
// For `kubectl get nodes -o`.
std::string kubernetes_node_format(std::string_view nonce);
std::vector<KubernetesNode> parse_kubernetes_nodes(std::string_view text, std::string_view nonce);

// Kubernetes' own rules for names (RFC 1123): of pods and nodes; of namespaces and containers.
bool is_kubernetes_name(std::string_view name);
bool is_kubernetes_label(std::string_view name);
// What may stand in a label selector.
bool is_kubernetes_selector(std::string_view selector);

// What to do about what kubectl said when it was asked for pods; empty where nothing better is known.
std::string_view kubernetes_remedy(std::string_view said);

}  // namespace railbed::fleet

// Parses what kubectl prints about pods and nodes. The format names the fields (-o jsonpath), so that a
// thousand pods take a few hundred kilobytes; whole objects (-o json) would list the images of each node.
//
// All output is untrusted: a reason may hold any bytes, including line feeds, and jsonpath prints them
// unchanged. So each requested line starts with a nonce that the author of a reason cannot know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railbed::fleet {

// One pod of the agents.
struct KubernetesPod {
  std::string name;
  std::string node;       // the node that it runs on, or is assigned to
  std::string container;  // its first container
  std::string why_not;    // why no agent can be started in it now; empty if one can
};
// Returns the format for `kubectl get pods -o`.
std::string kubernetes_pod_format(std::string_view nonce);
// Returns one pod for each node, at most 100,000. If a node has several, prefers one in which an agent can be
// started.
std::vector<KubernetesPod> parse_kubernetes_pods(std::string_view text, std::string_view nonce);

// The state of one node.
struct KubernetesNode {
  std::string name;
  bool cordoned = false;
  std::string not_ready;  // the reason; empty if it is ready
};
// Returns the format for `kubectl get nodes -o`.
std::string kubernetes_node_format(std::string_view nonce);
// Returns the valid nodes, at most 100,000.
std::vector<KubernetesNode> parse_kubernetes_nodes(std::string_view text, std::string_view nonce);

// Return whether the name follows Kubernetes' rules (RFC 1123): for pods and nodes; for namespaces and
// containers.
bool is_kubernetes_name(std::string_view name);
bool is_kubernetes_label(std::string_view name);
// Returns whether the text has only characters of a label selector, and cannot be mistaken for an option.
bool is_kubernetes_selector(std::string_view selector);

// Returns a remedy for kubectl's message about pods; empty if none is known.
std::string_view kubernetes_remedy(std::string_view said);

}  // namespace railbed::fleet

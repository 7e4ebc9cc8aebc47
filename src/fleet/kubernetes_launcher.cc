// Kubernetes transports agents like ssh: a program on this machine, kubectl, has the standard input and
// output of a shell in a pod. The pod exists already and is idle. It belongs to a DaemonSet that an
// administrator has installed (deploy/kubernetes/agent), so that railbed needs no right to create pods. The
// shell runs the same script as over ssh. It starts the railbed of the pod's image if that is the same as
// ours; otherwise ours is pushed.
//
// kubectl is used instead of a library, because it supports every way to log in to a cluster, and the exec
// protocols of old and new API servers.
//
// When the connection ends, kubelet closes the agent's standard input, and the agent ends.
//
// The API server is read first. A node that is not ready, or cordoned, or whose pod is not running, is
// reported with the reason and not waited for. A user without the right to list nodes gets no reasons from
// nodes; those from pods suffice.
#include "fleet/kubernetes_launcher.h"

#include <fmt/format.h>

#include <map>

#include "base/shell.h"
#include "fleet/bootstrap.h"
#include "fleet/kubernetes_text.h"
#include "fleet/prepared_launcher.h"

namespace railbed::fleet {
namespace {

constexpr std::string_view kNoKubectl =
    "kubectl is not here: install the one of your cluster (Debian: kubernetes-client)";
constexpr std::string_view kPathInImage = "/usr/local/bin/railbed";  // deploy/kubernetes/Containerfile

std::vector<std::string> kubectl_words(const KubernetesChoice& choice, std::vector<std::string> more) {
  std::vector<std::string> words = {"kubectl"};
  if (!choice.kubeconfig.empty()) words.push_back("--kubeconfig=" + choice.kubeconfig);
  if (!choice.context.empty()) words.push_back("--context=" + choice.context);
  words.insert(words.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return words;
}

Result<std::string> ask_kubectl(const KubernetesChoice& choice, std::vector<std::string> question,
                                const std::stop_token& stop) {
  question.push_back("--request-timeout=15s");
  auto text = ask_scheduler("kubectl", kubectl_words(choice, std::move(question)), kNoKubectl, stop);
  if (text) return text;
  Error error = text.error();
  if (const auto remedy = kubernetes_remedy(error.text); !remedy.empty())
    error.text += fmt::format("; {}", remedy);
  return fail(std::move(error));
}

Result<std::vector<KubernetesPod>> ask_pods(const KubernetesChoice& choice, const std::stop_token& stop) {
  const std::string nonce = make_nonce();
  ASSIGN_OR_RETURN(const auto text,
                   ask_kubectl(choice,
                               {"get", "pods", "--namespace=" + choice.name_space,
                                "--selector=" + choice.selector, "-o", kubernetes_pod_format(nonce)},
                               stop));
  auto pods = parse_kubernetes_pods(text, nonce);
  if (pods.empty())
    return fail(ErrorKind::kUnavailable,
                fmt::format("no pod with {} is in the namespace {}: install deploy/kubernetes/agent "
                            "(docs/how-to/kubernetes.md), or name what you have with --namespace and "
                            "--selector",
                            choice.selector, choice.name_space));
  return pods;
}

// Returns the states by node; empty if the user may not list nodes.
Result<std::map<std::string, KubernetesNode>> ask_node_states(const KubernetesChoice& choice,
                                                              const std::stop_token& stop) {
  std::map<std::string, KubernetesNode> states;
  const std::string nonce = make_nonce();
  const auto text = ask_kubectl(choice, {"get", "nodes", "-o", kubernetes_node_format(nonce)}, stop);
  if (!text && text.error().text.find("Forbidden") != std::string::npos) return states;
  if (!text) return fail(text.error());
  for (KubernetesNode& node : parse_kubernetes_nodes(*text, nonce))
    states.emplace(node.name, std::move(node));
  return states;
}

class KubernetesLauncher final : public PreparedLauncher {
 public:
  KubernetesLauncher(KubernetesChoice choice, bool cordoned_too, std::vector<std::string> nodes)
      : choice_(std::move(choice)), cordoned_too_(cordoned_too), nodes_(std::move(nodes)) {}

  std::string_view when_missing() const override { return kNoKubectl; }
  std::string path_on_node(const std::string&) const override { return std::string(kPathInImage); }

 private:
  Result<void> prepare(const Waker&, const std::stop_token& stop) override {
    ASSIGN_OR_RETURN(auto pods, ask_pods(choice_, stop));
    ASSIGN_OR_RETURN(const auto states, ask_node_states(choice_, stop));
    for (KubernetesPod& pod : pods) pods_.emplace(pod.node, std::move(pod));
    for (const std::string& node : nodes_) {
      const auto state = states.find(node);
      const bool known = states.empty() || state != states.end();
      std::string why = known ? "" : "Kubernetes knows no node of that name (kubectl get nodes)";
      if (state != states.end()) why = trouble_of_node(state->second);
      if (why.empty()) why = trouble_with_pod(node);
      if (!why.empty()) refused_.emplace(node, std::move(why));
    }
    return {};
  }

  std::string trouble_of_node(const KubernetesNode& node) const {
    if (!node.not_ready.empty()) return node.not_ready;
    if (!node.cordoned || cordoned_too_) return "";
    return fmt::format(
        "it is cordoned; name it with --nodelist to look at it all the same, or give it back "
        "with {}",
        command("kubectl uncordon {}", node.name).text());
  }

  std::string trouble_with_pod(const std::string& node) const {
    const auto pod = pods_.find(node);
    if (pod != pods_.end()) return pod->second.why_not;
    return fmt::format(
        "no pod with {} of the namespace {} is on it; does the DaemonSet select and tolerate "
        "it?",
        choice_.selector, choice_.name_space);
  }

  std::vector<std::string> node_words(const std::string& node, const std::string& script) override {
    const KubernetesPod& pod = pods_.at(node);
    return exec_words(choice_, pod.name, pod.container, script);
  }

  const KubernetesChoice choice_;
  const bool cordoned_too_;
  const std::vector<std::string> nodes_;
  std::map<std::string, KubernetesPod> pods_;  // by node
};

}  // namespace

std::unique_ptr<AgentLauncher> kubernetes_launcher(KubernetesChoice choice, bool cordoned_too,
                                                   std::vector<std::string> nodes) {
  return std::make_unique<KubernetesLauncher>(std::move(choice), cordoned_too, std::move(nodes));
}

Result<std::vector<std::string>> kubernetes_nodes(const KubernetesChoice& choice,
                                                  const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto pods, ask_pods(choice, stop));
  std::vector<std::string> names;
  for (const KubernetesPod& pod : pods) names.push_back(pod.node);
  return names;
}

std::vector<std::string> exec_words(const KubernetesChoice& choice, const std::string& pod,
                                    const std::string& container, const std::string& script) {
  return kubectl_words(choice, {"exec", "--namespace=" + choice.name_space, "--stdin",
                                "--container=" + container, pod, "--", "/bin/sh", "-c", script});
}

}  // namespace railbed::fleet

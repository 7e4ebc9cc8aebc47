// Starts agents in the pods of a DaemonSet: one `kubectl exec` for each node, whose standard streams are the
// agent's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/agent_launcher.h"

namespace railbed::fleet {

// Returns a launcher. It reads the pods and the state of their nodes from the API server when the first of
// `nodes` is called. Cordoned nodes are refused unless `cordoned_too`.
std::unique_ptr<AgentLauncher> kubernetes_launcher(KubernetesChoice choice, bool cordoned_too,
                                                   std::vector<std::string> nodes);

// Returns the nodes that have one of the chosen pods, in any state. Fails with a remedy if there is none, or
// if the API server cannot be reached.
Result<std::vector<std::string>> kubernetes_nodes(const KubernetesChoice& choice,
                                                  const std::stop_token& stop = {});

// Returns the command line of kubectl.
std::vector<std::string> exec_words(const KubernetesChoice& choice, const std::string& pod,
                                    const std::string& container, const std::string& script);

}  // namespace railbed::fleet

// Agents in the pods of a DaemonSet: one `kubectl exec` a node, whose standard streams are the agent's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/agent_launcher.h"

namespace railbed::fleet {

// Asks the API server for the pods and the state of their nodes when the first of `nodes` is to be reached.
// Nodes that are cordoned are refused unless `cordoned_too`.
std::unique_ptr<AgentLauncher> kubernetes_launcher(KubernetesChoice choice, bool cordoned_too,
                                                   std::vector<std::string> nodes);

// The nodes that have one of the chosen pods, whatever its state. An error where there is none, or where the
// API server cannot be asked: what to do next stands in it.
Result<std::vector<std::string>> kubernetes_nodes(const KubernetesChoice& choice,
                                                  const std::stop_token& stop = {});

// kubectl's whole command line.
std::vector<std::string> exec_words(const KubernetesChoice& choice, const std::string& pod,
                                    const std::string& container, const std::string& script);

}  // namespace railbed::fleet

// What starts an agent on a node and carries its streams there and back: OpenSSH's client, a step of Slurm's,
// kubectl exec, or a shell of this machine. A session knows no more of it than this, and the commands above
// know nothing.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"
#include "fleet/link.h"

namespace railbed::fleet {

class AgentLauncher {
 public:
  virtual ~AgentLauncher() = default;
  // The program of this machine whose standard streams are those of `script`, a line for /bin/sh, on the
  // node. An error, which names the node: there is no use in trying. What all nodes need first, such as an
  // allocation, is waited for here. Thread-safe; `waker` must be woken when `stop` is requested.
  virtual Result<std::vector<std::string>> words(const Target& target, const std::string& script,
                                                 const Waker& waker, const std::stop_token& stop) = 0;
  // What to say where the program that words() begins with is not installed.
  virtual std::string_view when_missing() const { return ""; }
  // Where a node may have the agent already; `own` is its path here. Empty: nowhere that we know of.
  virtual std::string path_on_node([[maybe_unused]] const std::string& own) const { return ""; }
};

std::unique_ptr<AgentLauncher> local_launcher();
std::unique_ptr<AgentLauncher> ssh_launcher(const FleetOptions& options);

// ssh's whole command line.
std::vector<std::string> ssh_words(const Target& target, const FleetOptions& options,
                                   const std::string& command);

}  // namespace railbed::fleet

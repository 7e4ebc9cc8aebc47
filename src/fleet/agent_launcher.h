// The interface of a launcher, which starts an agent on a node and connects its standard streams: OpenSSH's
// client, a step of Slurm, kubectl exec, or a shell on this machine. A session uses only this interface; the
// commands above it do not use it at all.
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

// See the head of this file.
class AgentLauncher {
 public:
  virtual ~AgentLauncher() = default;
  // Returns the command of this machine whose standard streams are those of `script`, a line for /bin/sh, on
  // the node. An error names the node and means that an attempt is useless. Waits for what all nodes need
  // first, such as an allocation. Thread-safe. `waker` must be woken when `stop` is requested.
  virtual Result<std::vector<std::string>> words(const Target& target, const std::string& script,
                                                 const Waker& waker, const std::stop_token& stop) = 0;
  // Returns a hint for the case that the program of words() is not installed.
  virtual std::string_view when_missing() const { return ""; }
  // Returns the path at which a node may already have the agent; empty if none is known. `own` is its path on
  // this machine.
  virtual std::string path_on_node([[maybe_unused]] const std::string& own) const { return ""; }
};

// Returns the launcher for this machine.
std::unique_ptr<AgentLauncher> local_launcher();
// Returns the launcher for nodes behind ssh. `options` must outlive it.
std::unique_ptr<AgentLauncher> ssh_launcher(const FleetOptions& options);

// Returns the command line of ssh.
std::vector<std::string> ssh_words(const Target& target, const FleetOptions& options,
                                   const std::string& command);

}  // namespace railbed::fleet

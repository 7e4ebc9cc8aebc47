// The state that all sessions of a fleet share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/agent_binary.h"
#include "fleet/agent_launcher.h"
#include "fleet/fleet.h"

namespace railbed::fleet {

// Options, agents and launchers of a fleet. It must outlive its sessions.
class FleetContext {
 public:
  // `nodes` are the names of all nodes that may be called; the launcher prepares all of them at once.
  explicit FleetContext(FleetOptions given, std::vector<std::string> nodes = {});
  FleetContext(const FleetContext&) = delete;
  FleetContext& operator=(const FleetContext&) = delete;
  ~FleetContext();  // erases the password

  AgentLauncher& launcher_of(const Target& target) { return target.local ? *local_ : *remote_; }

  FleetOptions options;
  AgentBinaries binaries;

 private:
  const std::unique_ptr<AgentLauncher> local_;
  const std::unique_ptr<AgentLauncher> remote_;
};

}  // namespace railbed::fleet

// What all sessions of a fleet share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fleet/agent_binary.h"
#include "fleet/agent_launcher.h"
#include "fleet/fleet.h"

namespace railbed::fleet {

class FleetContext {
 public:
  // `nodes`: the names of all that may be asked, which share what the launcher has to wait for.
  explicit FleetContext(FleetOptions given, std::vector<std::string> nodes = {});
  FleetContext(const FleetContext&) = delete;
  FleetContext& operator=(const FleetContext&) = delete;
  ~FleetContext();  // wipes the password

  AgentLauncher& launcher_of(const Target& target) { return target.local ? *local_ : *remote_; }

  FleetOptions options;
  AgentBinaries binaries;

 private:
  const std::unique_ptr<AgentLauncher> local_;
  const std::unique_ptr<AgentLauncher> remote_;
};

}  // namespace railbed::fleet

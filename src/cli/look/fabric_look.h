// The subnet that the commands of railbed fabric work on: a live one, or one in a file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "fabric/discover.h"

namespace CLI {
class App;
}

namespace railbed {

struct FabricLook {
  IbFabric fabric;
  std::unique_ptr<MadDoor> door;  // null if a file was read
  std::string from;
};

DiscoveryLimits limits_of_terminal();  // Ctrl-C stops it
Result<IbFabric> fabric_of_file(const std::string& path);
// Reads the subnet from `file`; if that is empty, discovers it through `device` and `port`, as open_umad()
// takes them.
Result<FabricLook> look_at_fabric(const std::string& file, const std::string& device, int port);

// Declares the command "topology" below "fabric". `choose` gets what to run when it is the command.
void declare_fabric_topology(CLI::App& fabric,
                             const std::function<void(const std::function<int()>& run)>& choose);

}  // namespace railbed

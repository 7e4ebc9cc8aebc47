// The subnet that the commands of railbed fabric work on: a live one, or one in a file.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fabric/discover.h"

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

}  // namespace railbed

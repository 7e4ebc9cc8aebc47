// What the commands of railbed fabric look at: a subnet that is asked, or what somebody wrote of one.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fabric/discover.h"

namespace railbed {

struct FabricLook {
  IbFabric fabric;
  std::unique_ptr<MadDoor> door;  // null: a file was read
  std::string from;
};

DiscoveryLimits limits_of_terminal();  // Ctrl-C stops it
Result<IbFabric> fabric_of_file(const std::string& path);
// `file` empty: the subnet is asked through `device` and `port`, as open_umad() takes them.
Result<FabricLook> look_at_fabric(const std::string& file, const std::string& device, int port);

}  // namespace railbed

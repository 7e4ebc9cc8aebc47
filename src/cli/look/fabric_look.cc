#include "cli/look/fabric_look.h"

#include <utility>

#include "base/files.h"
#include "cli/terminal.h"
#include "fabric/fabric_file.h"

namespace railbed {

DiscoveryLimits limits_of_terminal() {
  DiscoveryLimits limits;
  limits.stop = interrupted();
  return limits;
}

Result<IbFabric> fabric_of_file(const std::string& path) {
  ASSIGN_OR_RETURN(const auto text, read_file(path));
  return parse_fabric_file(text, path);
}

Result<FabricLook> look_at_fabric(const std::string& file, const std::string& device, int port) {
  if (!file.empty()) {
    ASSIGN_OR_RETURN(auto fabric, fabric_of_file(file));
    return FabricLook{std::move(fabric), nullptr, file};
  }
  ASSIGN_OR_RETURN(auto door, open_umad(device, port));
  progress("asking the subnet");
  auto fabric = discover_fabric(*door, limits_of_terminal());
  clear_progress();
  if (!fabric) return fail(fabric.error());
  std::string from = "management datagrams through " + door->name();
  return FabricLook{std::move(*fabric), std::move(door), std::move(from)};
}

}  // namespace railbed

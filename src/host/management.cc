#include "host/management.h"

namespace railbed {

Reading<bool> manages_nvswitches(Host& host, const std::string& device) {
  const std::string folder = "/sys/class/infiniband/" + device;
  const auto layer = host.read_line(folder + "/ports/1/link_layer");
  if (!layer || *layer != "InfiniBand") return {false, folder + "/ports/1/link_layer"};
  const auto vpd = host.read(folder + "/device/vpd", 512);
  if (!vpd) return {vpd.miss(), vpd.from()};
  return {vpd->find("SW_MNG") != std::string::npos, vpd.from()};
}

}  // namespace railbed

// What a folder lies on: the file system mounted there, and the drives below it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.h"

namespace railbed {

class Host;

struct Mount {
  std::string point;                 // "/scratch"
  std::string type;                  // "ext4", "xfs", "tmpfs", "nfs4", "overlay"
  std::string source;                // "/dev/nvme0n1p2", "server:/export", "tank/home"
  std::vector<std::string> devices;  // whole drives: "nvme0n1"; empty where no local drive is known
  static void fields(auto&& field) {
    field("point", &Mount::point);
    field("type", &Mount::type);
    field("source", &Mount::source);
    field("devices", &Mount::devices);
  }
};

// The mount that `path` (absolute, resolved) lies on, of the text of /proc/self/mountinfo: proc(5). Its
// devices are left empty.
std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path);

// Likewise for a folder of this host. A partition stands for its drive; a volume (device mapper, md) for the
// drives that it is made of: /sys/class/block/X/slaves.
Reading<Mount> collect_mount(Host& host, const std::string& folder);

}  // namespace railbed

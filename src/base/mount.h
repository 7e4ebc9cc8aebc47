// The file system that holds a folder. facts/mount.h collects it and results/storage.h keeps it.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"

namespace railbed {

struct Mount {
  std::string point;                 // "/scratch"
  std::string type;                  // "ext4", "xfs", "tmpfs", "nfs4", "overlay"
  std::string source;                // "/dev/nvme0n1p2", "server:/export", "tank/home"
  std::vector<std::string> devices;  // whole drives: "nvme0n1"; empty if no local drive is known
  // Addresses of the machines that serve it over a network, by NFS, SMB or NVMe over Fabrics; empty if none does.
  std::vector<std::string> servers = {};
  FIELDS(Mount, point, type, source, devices, servers);
};

}  // namespace railbed

// What the installer of a bare machine reads, so that the rest can be done over ssh: host name, a user with
// keys and no password, the management network, the serial console.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

struct InstallFile {
  std::string name;  // user-data, meta-data; ks.cfg
  std::string content;
};

// By `expect.os` of the node: autoinstall of Ubuntu's server installer, or a kickstart of RHEL and its kin.
// The first file is the one that says it all. The disks are left to a person: neither erases anything by
// itself. An error where nobody could log in afterwards, or where that system has neither.
Result<std::vector<InstallFile>> install_files(const Node& node);

}  // namespace railbed

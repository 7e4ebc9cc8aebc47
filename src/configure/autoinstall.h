// Input files for the installer of a bare machine, so that the rest can be done over ssh: host name, a user
// with keys and no password, the management network, the serial console.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "inventory/cluster.h"

namespace railbed {

// A file for the installer.
struct InstallFile {
  std::string name;  // user-data, meta-data; ks.cfg
  std::string content;
};

// Returns the files for the system in `expect.os` of the node: autoinstall of Ubuntu's server installer, or a
// kickstart of RHEL and its relatives. The first file holds the settings. The disks are left to a person:
// neither file erases anything by itself. Fails with kBadInput if no one could log in afterwards, or if the
// system supports neither format.
Result<std::vector<InstallFile>> install_files(const Node& node);

}  // namespace railbed

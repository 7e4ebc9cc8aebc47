// Writes the ISO that a bare machine boots its installer from, together with the answers of its node, out of the
// maker's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/caller.h"
#include "inventory/cluster.h"

namespace railbed {

// The maker's ISO and the nodes that it is to install.
struct InstallerWish {
  std::string iso;
  std::vector<Node> nodes;  // at least one; `expect.os` may be absent
};

struct WrittenIso {
  std::string system;              // what it installs: "Ubuntu-Server 24.04.1 LTS"
  std::vector<std::string> menus;  // the ISO's menus that have the new entries
};

// Writes a copy of the ISO that holds the nodes' answers and boot entries for them. It becomes `output` in one step
// when it is complete; before, after a failure and after a stop there is only a temporary folder beside it, which is
// removed. An existing file is replaced only with `replace`, and never the ISO itself. Uses xorriso, and for
// RHEL's boot partition mcopy. kBadInput for an ISO that railbed does not know, or that installs something else than a
// node's `expect.os`.
Result<WrittenIso> write_installer_iso(const InstallerWish& wish, const std::string& output, bool replace,
                                       const Caller& caller);

}  // namespace railbed

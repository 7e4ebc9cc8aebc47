// A systemd unit that rolls back an open apply early in a boot, before the network starts and before sysctl
// settings and modules are loaded: after a power cut, the node starts in its old state.
#pragma once

#include <string>
#include <string_view>

#include "apply/writable_host.h"
#include "base/result.h"

namespace railbed {

inline constexpr std::string_view kBootGuard = "/etc/systemd/system/railbed-recover.service";

// Install and remove the unit. arm_boot_guard() does nothing on a system without systemd's folder of units.
Result<void> arm_boot_guard(WritableHost& host);
Result<void> disarm_boot_guard(WritableHost& host);

// Returns the path of the running program, for systemd to start it as root. No other user can replace the
// file at that path: a program that runs from a user's folder is copied into /opt/railbed/bin first.
Result<std::string> program_for_root(WritableHost& host);

}  // namespace railbed

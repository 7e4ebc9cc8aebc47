// The unit of systemd that takes an open apply back early in a boot, before the network and before sysctl and
// modules are read: after a power cut the node starts as it was.
#pragma once

#include <string>
#include <string_view>

#include "apply/writable_host.h"
#include "base/result.h"

namespace railbed {

inline constexpr std::string_view kBootGuard = "/etc/systemd/system/railbed-recover.service";

// Without systemd there is none.
Result<void> arm_boot_guard(WritableHost& host);
Result<void> disarm_boot_guard(WritableHost& host);

// The path of this very program, for systemd to start it as root. Nobody else can put another one there: one
// that runs from a user's folder is copied into /opt/railbed/bin first.
Result<std::string> program_for_root(WritableHost& host);

}  // namespace railbed

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

// This very program, which the unit starts.
std::string own_program();

}  // namespace railbed

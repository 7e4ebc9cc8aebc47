// What a folder lies on: the file system mounted there, and the drives below it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/mount.h"
#include "base/reading.h"
#include "facts/system.h"

namespace railbed {

class Host;

// The mount that `path` (absolute, resolved) lies on, of the text of /proc/self/mountinfo: proc(5). Its
// devices are left empty.
std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path);

// By what the mount that `path` lies on cannot be written, given that it cannot: the mount's own options, its
// type or the options of the file system, all of that text.
std::optional<ReadOnlyBy> read_only_by(std::string_view mountinfo, std::string_view path);

// Likewise for a folder of this host. A partition stands for its drive; a volume (device mapper, md) for the
// drives that it is made of: /sys/class/block/X/slaves.
Reading<Mount> collect_mount(Host& host, const std::string& folder);

}  // namespace railbed

// The file system that holds a folder, and the drives below it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/mount.h"
#include "base/reading.h"
#include "facts/system.h"

namespace railbed {

class Host;

// Returns the mount that holds `path` (absolute, resolved), from the text of /proc/self/mountinfo: proc(5).
// `devices` stays empty; `servers` has the address of an NFS or SMB server.
std::optional<Mount> find_mount(std::string_view mountinfo, std::string_view path);

// A line of /proc/self/mountinfo, such as "36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1 rw".
struct MountLine {
  Mount mount;
  std::string_view options;              // of this mount
  std::string_view file_system_options;  // of the file system
};
// Returns nullopt if the line is none: proc(5). `mount` is as find_mount() returns it.
std::optional<MountLine> parse_mount_line(std::string_view line);

// Returns a path of mountinfo, or of another table of mounts, without its escapes: proc(5).
std::string unescaped_mount(std::string_view text);

// Returns the value of an option in "rw,proto=rdma,addr=10.0.0.1"; empty if it is not there.
std::string_view mount_option(std::string_view options, std::string_view key);
// Returns whether an option is among "rw,noatime".
bool has_mount_option(std::string_view options, std::string_view wanted);

// Returns why the mount that holds `path` is read-only: the type or the options of the file system, or the
// options of the mount. Call it only for a read-only mount; nullopt if the text gives no reason.
std::optional<ReadOnlyBy> read_only_by(std::string_view mountinfo, std::string_view path);

// Returns where a block device is mounted, by its number ("259:1") or its name ("nvme0n1p1"); nullopt if it is not. Btrfs
// gives its mounts another number.
std::optional<std::string> mount_point_of(std::string_view mountinfo, std::string_view number,
                                          std::string_view name);

// Returns the mount that holds a folder of this host, with its drives. A partition is reported as its drive,
// and a volume (device mapper, md) as the drives that it consists of: /sys/class/block/X/slaves. A drive of NVMe over
// Fabrics brings the addresses of its live controllers.
Reading<Mount> collect_mount(Host& host, const std::string& folder);

}  // namespace railbed

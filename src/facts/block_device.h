// Where the kernel describes block devices, NVMe controllers and mounts.
#pragma once

#include <string>

namespace railbed {

inline constexpr const char* kMountTable = "/proc/self/mountinfo";

// `name`: nvme0n1, sda
inline std::string block_device_folder(const std::string& name) { return "/sys/block/" + name; }
// `name`: nvme0
inline std::string nvme_folder(const std::string& name) { return "/sys/class/nvme/" + name; }

}  // namespace railbed

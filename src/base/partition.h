// Names of partitions.
#pragma once

#include <string_view>

namespace railbed {

// Returns whether a device's path or name is that of a partition of the other: "/dev/sda1" of "/dev/sda", "nvme0n1p2" of
// "nvme0n1", "…/nvme-eui.0025-part1" of "…/nvme-eui.0025".
bool is_partition_of(std::string_view part, std::string_view whole);

}  // namespace railbed

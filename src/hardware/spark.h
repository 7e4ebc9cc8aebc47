// DGX Spark and other machines with GB10: properties that no other machine has.
#pragma once

#include <string_view>
#include <vector>

#include "base/units.h"
#include "facts/pcie.h"

namespace railbed {

struct Facts;

// Returns true for such a machine's GPU. It shares the processor's memory; its PCI Express link, which every
// published machine shows as Gen1 x1, carries no data.
bool is_spark_gpu(const PciDevice& device);
// Returns true for a function of the ConnectX-7 in such a machine. Two functions with one function number, on
// two slots of four lanes, are two paths to one cable.
bool is_spark_function(const std::vector<PciDevice>& devices, const PciDevice& device);
// Returns true if both interfaces are paths to one cable of this machine.
bool share_spark_cable(const Facts& facts, std::string_view interface, std::string_view other);

// What one function is expected to reach at its four lanes of Gen5, whose packets would allow 114 Gb/s.
// Published between two sound machines are 92.6 and 97.3 Gb/s with one queue pair and an RDMA MTU of 1024
// (NVIDIA/dgx-spark-playbooks, performance_benchmarking_guide.md), and 111.6 to 111.9 with four: so it is no
// limit, and what is nine tenths of it is no fault. Both functions together reach the 196 Gb/s of one cable.
inline constexpr BitRate kSparkFunctionRate = BitRate::gigabits(100);

// The rate of each of the two ports of its ConnectX-7 (NVIDIA DGX Spark User Guide, "Hardware Overview").
inline constexpr BitRate kSparkPortRate = BitRate::gigabits(200);

}  // namespace railbed

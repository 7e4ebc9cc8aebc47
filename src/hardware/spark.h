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

// The rate of one function at its four lanes of Gen5. Published are 92 to 97 Gb/s between two machines, and
// 96 over TCP, although lanes and headers alone would allow 114 (ServeTheHome, "The NVIDIA GB10 ConnectX-7
// 200GbE Networking is Really Different"; catharsis.net.au, "From 96 to 340 Gbit/s").
inline constexpr BitRate kSparkFunctionRate = BitRate::gigabits(100);

// The rate of each of the two ports of its ConnectX-7 (NVIDIA DGX Spark User Guide, "Hardware Overview").
inline constexpr BitRate kSparkPortRate = BitRate::gigabits(200);

}  // namespace railbed

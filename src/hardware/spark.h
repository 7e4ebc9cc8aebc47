// DGX Spark and its kin, by their GB10: what they have that no other machine has.
#pragma once

#include <string_view>
#include <vector>

#include "base/units.h"
#include "facts/pcie.h"

namespace railbed {

struct Facts;

// A function of the ConnectX-7 of such a machine. Two of them, with one function number on two slots of four
// lanes, are two ways to one cable.
bool is_spark_function(const std::vector<PciDevice>& devices, const PciDevice& device);
// Whether both interfaces are ways to one cable of this machine.
bool share_spark_cable(const Facts& facts, std::string_view interface, std::string_view other);

// What one function carries at its four lanes of Gen5. Published are 92 to 97 Gb/s between two machines, and
// 96 over TCP, although lanes and headers alone would leave room for 114 (ServeTheHome, "The NVIDIA GB10
// ConnectX-7 200GbE Networking is Really Different"; catharsis.net.au, "From 96 to 340 Gbit/s").
inline constexpr BitRate kSparkFunctionRate = BitRate::gigabits(100);

}  // namespace railbed

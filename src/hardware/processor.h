// What a processor's name says of the instructions that it knows.
#pragma once

#include <optional>
#include <string_view>

namespace railbed {

// The x86-64 microarchitecture level (x86-64 psABI: 3 has AVX2 and FMA) at least; nothing where the name does
// not tell. Of "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz" it is 2: Ivy Bridge.
std::optional<int> x86_level(std::string_view model);
// "Ivy Bridge"; empty where the name does not tell.
std::string_view processor_generation(std::string_view model);

// Of its own PCIe lanes; nothing where the name does not tell. Xeon E5 of the first four versions has Gen3
// (ark.intel.com).
std::optional<int> pcie_generation(std::string_view model);

// The level that an operating system (ID of os-release) asks for from a major version on.
struct LevelNeeded {
  std::string_view os;
  int version;
  int level;
  std::string_view source;
};
// Null: none that is known.
const LevelNeeded* level_needed(std::string_view os, int version);

}  // namespace railbed

// Properties of a processor that follow from its name.
#pragma once

#include <optional>
#include <string_view>

namespace railbed {

// Returns the x86-64 microarchitecture level that the processor has at least (x86-64 psABI: 3 has AVX2 and
// FMA); nullopt if the name is not known. For "Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz" it is 2: Ivy
// Bridge.
std::optional<int> x86_level(std::string_view model);
// Returns a generation such as "Ivy Bridge"; empty if the name is not known.
std::string_view processor_generation(std::string_view model);

// Returns the generation of the processor's own PCIe lanes; nullopt if the name is not known. Xeon E5 of the
// first four versions has Gen3 (ark.intel.com).
std::optional<int> pcie_generation(std::string_view model);

// The level that an operating system (ID of os-release) requires from a major version on.
struct LevelNeeded {
  std::string_view os;
  int version;
  int level;
  std::string_view source;
};
// Returns the requirement of this release; null if none is known.
const LevelNeeded* level_needed(std::string_view os, int version);

}  // namespace railbed

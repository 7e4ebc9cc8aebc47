// Decides which parts of a machine its owner can exchange, and whether it is a machine at all.
#pragma once

#include <string>

namespace railbed {

struct Facts;

enum class PartsFreedom {
  kFree,     // a computer with slots, or one of which nothing else is known
  kNoSlots,  // adapters are cards, and every slot for one has its card
  kFixed     // adapters are soldered, rented, or part of a system that is sold whole
};

struct FixedParts {
  PartsFreedom freedom = PartsFreedom::kFree;
  std::string why = {};     // "a DGX Spark: …"; empty if free
  std::string source = {};  // of that; empty if free
};
// Returns what the firmware's names, the GPUs and the adapters say of the machine.
FixedParts fixed_parts_of(const Facts& facts);

// Returns true if the kernel's log states that it runs in a confidential virtual machine; false if nothing shows it.
bool is_confidential_guest(const Facts& facts);

// Returns true if the firmware's names, the clock source or the kernel's log are those of a hypervisor's guest; false if
// nothing shows it.
bool is_virtual_machine(const Facts& facts);

}  // namespace railbed

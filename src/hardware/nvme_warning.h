// The critical warning of an NVMe drive.
#pragma once

#include <string>

namespace railbed {

inline constexpr int kNvmeTooHot = 2;  // a bit of it

// Returns what the bits mean, in words: "spare blocks are used up, it is too hot". NVM Express Base Specification, SMART /
// Health Information.
std::string nvme_warning_text(int critical_warning);

}  // namespace railbed

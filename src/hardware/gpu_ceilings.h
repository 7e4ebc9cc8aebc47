// The most that copies of a GPU can carry: arithmetic on facts and data sheets, nothing measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/measurement.h"

namespace railbed {

struct Facts;

// All NVLinks of this GPU that are up, each way. Data sheets count 25 GB/s a link (50 from Blackwell on); the
// speed that NVML states includes the coding.
std::optional<Limit> nvlink_limit(const Facts& facts, std::string_view address, std::string_view node);

// Copying within the memory reads and writes each byte: half of the memory's own rate. `clock` in kHz, as the
// driver states both; nothing where it does not.
std::optional<Limit> memory_copy_limit(int clock, int bus_bits);

}  // namespace railbed

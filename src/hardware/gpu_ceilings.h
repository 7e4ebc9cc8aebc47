// The upper limits of a GPU's copies, calculated from facts and data sheets. Nothing is measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/measurement.h"

namespace railbed {

struct Facts;

// Returns the rate of all active NVLinks of this GPU, each way; nullopt if none states its speed. Data sheets
// count 25 GB/s a link (50 from Blackwell on); the speed that NVML reports includes the coding.
std::optional<Limit> nvlink_limit(const Facts& facts, std::string_view address, std::string_view node);

// Returns the limit of a copy within the GPU's memory, which reads and writes each byte: half of the memory's
// rate. `clock` is in kHz and `bus_bits` the bus width, both as the driver reports them; nullopt if it does
// not.
std::optional<Limit> memory_copy_limit(int clock, int bus_bits);

}  // namespace railbed

// GPUs compared: one line for each model, or their whole data sheets side by side.
#pragma once

#include <string>
#include <vector>

#include "hardware/gpu_sheet.h"

namespace railbed {

// One line for each model: what most people compare first.
std::string gpu_list_text(const std::vector<GpuSheet>& sheets);
// Blocks of up to three models side by side, 80 columns wide, then the sources.
std::string gpu_sheets_text(const std::vector<GpuSheet>& sheets);

}  // namespace railbed

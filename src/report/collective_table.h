// A collective's report for people.
#pragma once

#include <string>
#include <vector>

#include "nccl/log.h"
#include "predict/collective_forecast.h"
#include "results/collective.h"

namespace railbed {

// "16 × NVIDIA H200 on 2 nodes".
std::string collective_gpus_text(const CollectiveReport& report);
// `log`: what NCCL said of the run; `forecasts`: one for each row, or none.
std::string collective_table(const CollectiveReport& report, const nccl::Log& log,
                             const std::vector<Forecast>& forecasts = {});

}  // namespace railbed

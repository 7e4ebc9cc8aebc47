// Texts for people about collectives.
#pragma once

#include <string>
#include <vector>

#include "diagnose/log/job_log.h"
#include "predict/collective_forecast.h"
#include "results/collective.h"

namespace railbed {

// Returns "16 × NVIDIA H200 on 2 nodes".
std::string collective_gpus_text(const CollectiveReport& report);
// `log`: NCCL's log of the run. `forecasts`: one for each row, or none.
std::string collective_table(const CollectiveReport& report, const diagnose::Log& log,
                             const std::vector<Forecast>& forecasts = {});

}  // namespace railbed

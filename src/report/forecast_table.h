// Forecasts of collectives for people, and as the file that NCCL's example tuner plugin reads.
#pragma once

#include <string>
#include <vector>

#include "predict/against.h"
#include "predict/calibration_fit.h"
#include "predict/collective_forecast.h"
#include "verify/finding.h"

namespace railbed {

// The cluster, a row a size, the limit that binds; with `said`, where each property comes from.
std::string forecast_table(const ClusterShape& shape, Collective operation,
                           const std::vector<Forecast>& forecasts, bool said);
// What NCCL's model makes of every algorithm and protocol at each size, the one that it chooses marked.
std::string algorithms_table(const ClusterShape& shape, Collective operation,
                             const std::vector<std::uint64_t>& sizes, const ForecastChoice& choice);
// Measured beside predicted, what does not fit, and what explains it.
std::string check_table(const std::vector<ForecastCheck>& checks, const std::vector<Finding>& explaining);
// The constants that a fit changed, and each residual.
std::string calibration_table(const Calibration& calibration, const std::vector<MeasuredTime>& times);

std::string tuner_csv(const ClusterShape& shape, const Calibration& calibration);

}  // namespace railbed

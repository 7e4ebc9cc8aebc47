// Texts about forecasts of collectives, and the file that NCCL's example tuner plugin reads.
#pragma once

#include <string>
#include <vector>

#include "predict/against.h"
#include "predict/calibration_fit.h"
#include "predict/collective_forecast.h"
#include "predict/forecast_range.h"
#include "verify/finding.h"

namespace railbed {

// Returns the cluster, a row for each size, and the binding limit; with `said`, also the source of each
// property.
std::string forecast_table(const ClusterShape& shape, Collective operation,
                           const std::vector<Forecast>& forecasts, bool said);
// The same for a cluster of which something is not known: the lowest and the highest possible for each size with the
// unknown that decides, then each open question with the range of each answer and what settles it.
std::string forecast_range_table(const ClusterShape& shape, Collective operation,
                                 const std::vector<ForecastRange>& ranges, bool said);
// Returns a line with the first answer of each open question; empty if there are none.
std::string taken_line(const ClusterShape& shape);
// Returns the shape's notes, a line each.
std::string notes_text(const ClusterShape& shape);
// Returns the time of every algorithm and protocol in NCCL's model at each size; the chosen one is marked.
std::string algorithms_table(const ClusterShape& shape, Collective operation,
                             const std::vector<std::uint64_t>& sizes, const ForecastChoice& choice);
// Returns measured beside predicted values, the rows below the band, the verdict, and the findings that
// explain it.
std::string check_table(const std::vector<ForecastCheck>& checks, const RunVerdict& verdict,
                        const std::vector<Finding>& explaining);
// Returns the constants that a fit changed, and each residual.
std::string calibration_table(const Calibration& calibration, const std::vector<MeasuredTime>& times);

std::string tuner_csv(const ClusterShape& shape, const Calibration& calibration);

}  // namespace railbed

// Fits the constants of a calibration to measured times.
#pragma once

#include <string>
#include <vector>

#include "predict/collective_forecast.h"

namespace railbed {

struct MeasuredTime {
  std::string id;  // of the cluster or run that it belongs to
  ClusterShape shape;
  Collective operation = Collective::kAllReduce;
  std::uint64_t bytes = 0;
  double time = 0;  // ns
  ForecastChoice choice;
};

// ln(measured / forecast): above zero it was slower than said.
double residual_of(const MeasuredTime& one, const Calibration& calibration);

// Only paths that the times pass are changed; their `from` becomes `from`. Where there is little to go by,
// constants stay near those of `start`.
Calibration fit_calibration(const std::vector<MeasuredTime>& times, const Calibration& start,
                            const std::string& from);

// What a calibration leaves of the times: for each size the median of what was measured of it. Times of an
// algorithm that somebody asked for tell nothing of what NCCL would choose, and are left out.
std::vector<MeasuredCurve> measured_curves(const std::vector<MeasuredTime>& times, const Calibration& fitted);

}  // namespace railbed

// Fits the constants of a calibration to measured times.
#pragma once

#include <string>
#include <vector>

#include "predict/collective_forecast.h"

namespace railbed {

struct MeasuredTime {
  std::string id;  // the cluster or run that it belongs to
  ClusterShape shape;
  Collective operation = Collective::kAllReduce;
  std::uint64_t bytes = 0;
  double time = 0;  // ns
  ForecastChoice choice;
};

// Returns ln(measured / forecast); above zero, the measurement was slower.
double residual_of(const MeasuredTime& time, const Calibration& calibration);

// Returns `start` with the constants of those paths changed that the times pass; their `from` is set to
// `from`. With few times the constants stay near those of `start`.
Calibration fit_calibration(const std::vector<MeasuredTime>& times, const Calibration& start,
                            const std::string& from);

// A row as a forecast without its cluster sees it.
struct UnseenTime {
  double residual = 0;  // ln(measured / forecast)
  double spread = 0;    // of the band of that forecast
  PathKind path = PathKind::kNvlink;
};
struct SourcesFit {
  Calibration calibration;         // fitted to all rows
  std::vector<UnseenTime> unseen;  // one for each row, in their order
};
// Fits the constants of all clusters: first one factor for each family of networks, then each kind, which
// stays near its family. Each cluster is then forecast by a fit without it, and the spread of the bands is
// that of these forecasts, so that it has the differences between clusters. `from` says how many clusters
// there are.
SourcesFit fit_sources(const std::vector<MeasuredTime>& times, const Calibration& start);

// Returns the remaining error of a calibration: for each subject and size the median of measured / forecast.
// Times with a requested algorithm are left out, since they do not show NCCL's own choice.
std::vector<MeasuredCurve> measured_curves(const std::vector<MeasuredTime>& times, const Calibration& fitted);

}  // namespace railbed

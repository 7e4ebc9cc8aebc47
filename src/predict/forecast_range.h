// The range of a forecast for a cluster of which something is not known, and the unknown that decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "predict/collective_forecast.h"

namespace railbed {

// Returns the shape with one value of an open question in place; `open` does not change.
ClusterShape answered(ClusterShape shape, const ShapeAnswer& answer);

// The forecasts over all combinations of the open questions' answers. Times are nanoseconds, rates bits per second
// of busbw; both include the bands of the forecasts at the ends.
struct ForecastRange {
  std::uint64_t bytes = 0;
  double time_low = 0, time_high = 0;
  double low = 0, high = 0;
  std::string decides;     // the question that explains most of the width; empty if no answer matters
  std::string low_limit;   // what binds at the low end, and at the high end
  std::string high_limit;
  FIELDS(ForecastRange, bytes, time_low, time_high, low, high, decides, low_limit, high_limit);
};

// Returns the range. Without open questions it is the band of the one forecast. Beyond the first 256 combinations
// questions keep their first answer. The high end never exceeds the limits of the hardware.
ForecastRange forecast_range(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration = shipped_calibration(), const ForecastChoice& choice = {});

// Returns the shape whose answers give the slowest all_reduce of 1 GiB, without open questions: a measurement must
// not be called too slow because of a guess.
ClusterShape slowest_shape(const ClusterShape& shape);

// Returns the question of this name; null if there is none.
const OpenQuestion* find_question(const ClusterShape& shape, std::string_view what);

}  // namespace railbed

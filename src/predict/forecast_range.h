// The range of a forecast for a cluster of which something is not known, and the unknown that decides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "predict/collective_forecast.h"

namespace railbed {

// The size at which shapes are compared: large enough that rates decide.
inline constexpr std::uint64_t kReferenceBytes = std::uint64_t{1} << 30;

// Returns the shape with one value of an open question in place; `open` does not change.
ClusterShape answered(ClusterShape shape, const ShapeAnswer& answer);

// The range that is left once an open question has this answer. Rates as in ForecastRange.
struct AnswerRange {
  std::string value;
  double low = 0, high = 0;
  FIELDS(AnswerRange, value, low, high);
};
// An open question whose answer changes an end of the range.
struct QuestionRange {
  std::string what;
  std::vector<AnswerRange> answers;
  std::string settle;  // as in OpenQuestion
  FIELDS(QuestionRange, what, answers, settle);
};

// The forecasts over all combinations of the open questions' answers. Times are nanoseconds, rates bits per second
// of busbw; both include the bands of the forecasts at the ends.
struct ForecastRange {
  std::uint64_t bytes = 0;
  double time_low = 0, time_high = 0;
  double low = 0, high = 0;
  std::string decides;    // the question that explains most of the width; empty if none matters
  std::string low_limit;  // what binds at the low end, and at the high end
  std::string high_limit;
  std::vector<QuestionRange> questions;  // the one that decides first
  FIELDS(ForecastRange, bytes, time_low, time_high, low, high, decides, low_limit, high_limit, questions);
};

// Returns the range. Without open questions it is the band of the one forecast. Beyond the first 256 combinations
// questions keep their first answer. The high end never exceeds the limits of the hardware, nor what the other kinds
// of nodes can do. A question whose answers leave the same range (within 2 %) is not among `questions`.
ForecastRange forecast_range(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration = shipped_calibration(),
                             const ForecastChoice& choice = {});

// Removes the open questions that are in none of the ranges.
void drop_idle_questions(ClusterShape& shape, const std::vector<ForecastRange>& ranges);

// Returns the shape whose answers give the slowest all_reduce of 1 GiB, without open questions: a measurement must
// not be called too slow because of a guess. Notes name the answers that were taken, where they matter.
ClusterShape slowest_shape(const ClusterShape& shape);

}  // namespace railbed

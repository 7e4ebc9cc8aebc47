// Compares measured collectives and rails with their forecasts.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "predict/collective_forecast.h"
#include "results/run.h"

namespace railbed {

struct Cluster;
struct Facts;

// A result above the band fits, too.
enum class ForecastFit { kFits, kDoubtful, kFallsShort };
constexpr auto enum_names(ForecastFit) {
  return std::array<std::string_view, 3>{"fits", "doubtful", "falls short"};
}
constexpr std::string_view to_text(ForecastFit fit) { return enum_names(fit)[static_cast<std::size_t>(fit)]; }

// One comparison. Rates are bits per second; for collectives they are busbw.
struct ForecastCheck {
  std::string subject;  // "all_reduce, 16 GPUs", "rail0 gpu01 -> gpu02"
  std::uint64_t bytes = 0;
  double measured = 0;
  double predicted = 0, low = 0, high = 0;
  double ratio = 0;
  ForecastFit fit = ForecastFit::kFits;
  bool network = false;  // the data passes adapters
  std::string source;    // source of the prediction
  // Standard deviation of ln(predicted ÷ measured) between clusters; 0 if it is unknown: then the row is
  // judged by its own fit.
  double spread = 0;
  FIELDS(ForecastCheck, subject, bytes, measured, predicted, low, high, ratio, fit, network, source, spread);
};

// The rows of one subject and size class together, or all rows.
struct PooledCheck {
  std::string what;  // "all_reduce, 16 GPUs, small sizes", "all rows"
  int rows = 0;
  double ratio = 0;        // measured ÷ predicted, the geometric mean
  double probability = 1;  // that a sound run is so far below its forecast
  ForecastFit fit = ForecastFit::kFits;
  FIELDS(PooledCheck, what, rows, ratio, probability, fit);
};

// The verdict on a run. Of sound runs at most one in twenty falls short, one in ten is doubtful or worse, as
// far as the forecasts' bands are right.
struct RunVerdict {
  ForecastFit fit = ForecastFit::kFits;
  std::vector<PooledCheck> pooled;
};

// Returns how a measured rate fits: below the band it is doubtful, below three quarters of the band's lower
// end it falls short.
ForecastFit fit_of(double measured, const Forecast& forecast);
// Checks one bus bandwidth of a collective.
ForecastCheck check_of(std::string subject, double busbw, const Forecast& forecast);
// Returns the choice that a forecast for a report must assume: its type, and whether each GPU has a thread
// that launches.
ForecastChoice choice_of(const CollectiveReport& report);
// Returns a forecast for each row of a report, for a cluster of this shape with the number of nodes and GPUs
// that took part.
std::vector<Forecast> forecasts_of(const CollectiveReport& report, ClusterShape shape,
                                   const Calibration& calibration);
// The same for a cluster that facts of its nodes or cluster.yaml describe; without either, the GPUs of one
// node are known by their name. Empty if the shape cannot be determined or fewer than two ranks took part.
std::vector<Forecast> forecasts_of(const CollectiveReport& report, const Cluster& cluster,
                                   const std::map<std::string, Facts>& facts);
// Checks an RDMA bandwidth whose ceiling is known; returns nothing for other measurements.
std::optional<ForecastCheck> check_rail(const Measurement& measured);
// Checks an RDMA bandwidth of another tool, which knows no ceiling, by one adapter of the shape; returns
// nothing for other measurements, for messages below 64 KiB, and if the shape has no adapters with RDMA.
std::optional<ForecastCheck> check_adapter(const Measurement& measured, const ClusterShape& shape);
// Checks all collectives of a run and all its RDMA bandwidths whose ceiling the run or the shape knows.
std::vector<ForecastCheck> check_run(const BenchRun& run, const ClusterShape& shape,
                                     const Calibration& calibration);
// Judges a run as a whole; kFits if there are no checks.
RunVerdict verdict_of(const std::vector<ForecastCheck>& checks);

}  // namespace railbed

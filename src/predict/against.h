// Measured collectives and rails beside what they should give.
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

// Above the band fits too: nobody complains of it.
enum class ForecastFit { kFits, kDoubtful, kFallsShort };
constexpr auto enum_names(ForecastFit) {
  return std::array<std::string_view, 3>{"fits", "doubtful", "falls short"};
}
constexpr std::string_view to_text(ForecastFit fit) { return enum_names(fit)[static_cast<std::size_t>(fit)]; }

// Rates are bits per second: busbw of collectives.
struct ForecastCheck {
  std::string subject;  // "all_reduce, 16 GPUs", "rail0 gpu01 -> gpu02"
  std::uint64_t bytes = 0;
  double measured = 0;
  double predicted = 0, low = 0, high = 0;
  double ratio = 0;
  ForecastFit fit = ForecastFit::kFits;
  bool network = false;  // it passes adapters
  std::string source;    // of the prediction
  FIELDS(ForecastCheck, subject, bytes, measured, predicted, low, high, ratio, fit, network, source);
};

// Below the band it is doubtful, below three quarters of its lower end it falls short.
ForecastFit fit_of(double measured, const Forecast& forecast);
// How railbed itself measures: what a forecast for its reports has to assume.
ForecastChoice choice_of(const CollectiveReport& report);
// Of a report as measured, on a cluster of this shape: as many GPUs as took part.
std::vector<Forecast> forecasts_of(const CollectiveReport& report, ClusterShape shape,
                                   const Calibration& calibration);
// The same, for a cluster that facts of its nodes or cluster.yaml describe; where neither does, GPUs of one
// node are known by their name. Empty: nobody says enough.
std::vector<Forecast> forecasts_of(const CollectiveReport& report, const Cluster& cluster,
                                   const std::map<std::string, Facts>& facts);
// Of a bandwidth by RDMA whose ceiling is known; nothing for all others.
std::optional<ForecastCheck> check_rail(const Measurement& measured);
std::vector<ForecastCheck> check_run(const BenchRun& run, const ClusterShape& shape,
                                     const Calibration& calibration);
ForecastFit worst_of(const std::vector<ForecastCheck>& checks);

}  // namespace railbed

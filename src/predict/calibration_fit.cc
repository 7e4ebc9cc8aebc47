// The fit minimizes the sum of absolute logarithms of measured / forecast: 20 % too high counts like 20 % too
// low, and a single odd row has little influence. Each cluster counts as the square root of its number of
// rows, so that a long table does not dominate the others. Each constant is held to its start with the weight
// of half a row, so that a constant without data stays where it was. The minimum is found by coordinate
// descent: one constant at a time is changed by ever smaller factors. The function is cheap, and this needs
// no gradient.
//
// The spread for the band is the root mean square of the remaining residuals, for each range of sizes. The
// assumed spread counts as four additional rows.
#include "predict/calibration_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr double kHeldToStart = .5;
constexpr double kAssumedRows = 4;
constexpr double kSteps[] = {1.5, 1.2, 1.08, 1.03, 1.01};
constexpr int kRounds = 8;
constexpr double PathConstants::*kFitted[] = {&PathConstants::efficiency, &PathConstants::start,
                                              &PathConstants::ramp};

class Fit {
 public:
  Fit(const std::vector<MeasuredTime>& times, const Calibration& start) : times_(times), start_(start) {
    std::map<std::string, double> rows;
    for (const MeasuredTime& time : times) ++rows[time.id];
    for (const MeasuredTime& time : times) weights_.push_back(1 / std::sqrt(rows[time.id]));
  }

  double cost(const Calibration& now) const {
    double sum = 0;
    for (std::size_t i = 0; i < times_.size(); ++i)
      sum += weights_[i] * std::abs(residual_of(times_[i], now));
    for (std::size_t i = 0; i < now.paths.size(); ++i)
      for (const auto constant : kFitted)
        sum += kHeldToStart * std::abs(std::log(now.paths[i].*constant / start_.paths[i].*constant));
    return sum;
  }
  Calibration minimum() const {
    Calibration now = start_;
    for (const double step : kSteps)
      for (int round = 0; round < kRounds && improve(now, step); ++round) {
      }
    return now;
  }

 private:
  bool improve(Calibration& now, double step) const {
    bool better = false;
    double least = cost(now);
    for (std::size_t i = 0; i < now.paths.size(); ++i)
      for (const auto constant : kFitted)
        for (const double factor : {step, 1 / step}) {
          const double before = now.paths[i].*constant;
          now.paths[i].*constant = before * factor;
          const double tried = cost(now);
          if (tried < least - 1e-9) {
            least = tried;
            better = true;
          } else {
            now.paths[i].*constant = before;
          }
        }
    return better;
  }

  const std::vector<MeasuredTime>& times_;
  const Calibration& start_;
  std::vector<double> weights_;
};

void set_spread(PathConstants& constants, const std::vector<double>& assumed,
                const std::vector<std::vector<double>>& residuals) {
  for (std::size_t range = 0; range < residuals.size(); ++range) {
    double squares = kAssumedRows * assumed[range] * assumed[range];
    for (const double residual : residuals[range]) squares += residual * residual;
    constants.spread[range] =
        std::sqrt(squares / (kAssumedRows + static_cast<double>(residuals[range].size())));
  }
}

double middle_of(std::vector<double>& numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  if (numbers.size() % 2 == 1) return *middle;
  return (*middle + *std::ranges::max_element(numbers.begin(), middle)) / 2;
}

}  // namespace

double residual_of(const MeasuredTime& time, const Calibration& calibration) {
  return std::log(time.time /
                  forecast_collective(time.shape, time.operation, time.bytes, calibration, time.choice).time);
}

Calibration fit_calibration(const std::vector<MeasuredTime>& times, const Calibration& start,
                            const std::string& from) {
  Calibration fitted = Fit(times, start).minimum();
  for (PathConstants& constants : fitted.paths) {
    std::vector<std::vector<double>> residuals(3);
    int rows = 0;
    for (const MeasuredTime& time : times) {
      const Forecast forecast =
          forecast_collective(time.shape, time.operation, time.bytes, fitted, time.choice);
      if (forecast.path != constants.path && forecast.bound != constants.path) continue;
      ++rows;
      if (forecast.path == constants.path)
        residuals[size_range(time.bytes)].push_back(std::log(time.time / forecast.time));
    }
    if (rows == 0) continue;
    set_spread(constants, start.of(constants.path).spread, residuals);
    constants.rows = rows;
    constants.from = from;
  }
  return fitted;
}

std::vector<MeasuredCurve> measured_curves(const std::vector<MeasuredTime>& times,
                                           const Calibration& fitted) {
  std::map<CurveSubject, std::map<std::uint64_t, std::vector<double>>> left;
  for (const MeasuredTime& time : times)
    if (!time.choice.algorithm)
      left[curve_subject(time.shape, time.operation, time.choice)][time.bytes].push_back(
          std::exp(residual_of(time, fitted)));
  std::vector<MeasuredCurve> curves;
  for (auto& [subject, sizes] : left) {
    MeasuredCurve curve{subject, {}};
    for (auto& [bytes, ratios] : sizes) curve.points.push_back({bytes, middle_of(ratios)});
    if (is_sound(curve)) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace railbed

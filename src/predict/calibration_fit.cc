// The fit minimizes the sum of absolute logarithms of measured / forecast: 20 % too high counts like 20 % too
// low, and a single odd row has little influence. Each cluster counts as a root of its number of
// rows, so that a long table does not dominate the others. Each constant is held to its start with the weight
// of half a row, so that a constant without data stays where it was. The minimum is found by coordinate
// descent: one constant at a time is changed by ever smaller factors. The function is cheap, and this needs
// no gradient.
//
// fit_sources() has two levels. First each family of networks changes by common factors, held to the start; then
// each kind changes by itself, held to what its family has. So a network with one measured cluster stays near
// its relatives, and one without any is where they are.
//
// The spread of the band of fit_calibration() is the root mean square of the remaining residuals, for each
// range of sizes; the assumed spread counts as four additional rows. That of fit_sources() comes from clusters
// that the fit did not see.
#include "predict/calibration_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/median.h"
#include "predict/path_limits.h"

namespace railbed {
namespace {

constexpr double kHeldToStart = .5;
constexpr double kAssumedRows = 4;
constexpr double kSteps[] = {1.5, 1.2, 1.08, 1.03, 1.01};
// Steps of the fits that leave a cluster out, of which there are many.
constexpr double kStepsWithout[] = {1.5, 1.15, 1.04};
constexpr int kRounds = 8;
// A row counts as its cluster's number of rows to the power of minus this. Among many clusters that with most rows
// has to count for little more than the others, since its rows err together.
constexpr double kOfFew = .5, kOfMany = 2. / 3;
constexpr double PathConstants::*kFitted[] = {&PathConstants::efficiency, &PathConstants::start,
                                              &PathConstants::ramp};
constexpr std::size_t kPaths = enum_names(PathKind{}).size();
using Kinds = std::bitset<kPaths>;

Kinds only(PathKind kind) { return Kinds{}.set(static_cast<std::size_t>(kind)); }
Kinds family(PathKind kind) {
  Kinds kinds = only(kind);
  for (const PathKind each : family_of(kind)) kinds |= only(each);
  return kinds;
}
// Returns the kinds whose constants the forecast of such a row may depend on.
Kinds touched_by(const MeasuredTime& time) {
  const ClusterShape& shape = time.shape;
  const bool between = shape.domains() > 1;
  Kinds kinds;
  if (between) kinds |= only(network_path(shape.nic));
  if (shape.ranks() > shape.domains()) kinds |= only(local_path(shape));
  if (shape.nvls && time.operation == Collective::kAllReduce)
    kinds |= only(between ? PathKind::kNvlsTree : PathKind::kNvls);
  return kinds;
}

// The rows that a fit sees. Rows of `without` and rows that touch none of `kinds` are left out.
class Fit {
 public:
  Fit(const std::vector<MeasuredTime>& times, const Kinds& kinds, double power,
      const std::string& without = {})
      : kinds_(kinds), steps_(without.empty() ? std::span<const double>(kSteps) : kStepsWithout) {
    std::map<std::string, double> rows;
    for (const MeasuredTime& time : times) ++rows[time.id];
    for (const MeasuredTime& time : times)
      if (const Kinds touched = touched_by(time); time.id != without && (touched & kinds).any())
        rows_.push_back({&time, std::pow(rows[time.id], -power), touched});
  }
  // Changes the constants of `now`, each kind by itself, or with `together` all of a family by one factor.
  void minimize(Calibration& now, bool together = false) const {
    const Calibration held = now;
    for (const double step : steps_)
      for (int round = 0; round < kRounds && improve(now, held, step, together); ++round) {
      }
  }

 private:
  struct Row {
    const MeasuredTime* time;
    double weight;
    Kinds touched;
  };
  // Returns the part of the cost that depends on the constants of `kinds`. A family that changes together is
  // held to its start once.
  double cost(const Calibration& now, const Calibration& held, const Kinds& kinds, bool together) const {
    double sum = 0;
    for (const Row& row : rows_)
      if ((row.touched & kinds).any()) sum += row.weight * std::abs(residual_of(*row.time, now));
    for (std::size_t i = 0; i < kPaths; ++i) {
      if (!kinds[i]) continue;
      for (const auto constant : kFitted)
        sum += kHeldToStart * std::abs(std::log(now.paths[i].*constant / held.paths[i].*constant));
      if (together) break;
    }
    return sum;
  }
  bool improve(Calibration& now, const Calibration& held, double step, bool together) const {
    bool better = false;
    Kinds done;
    for (std::size_t i = 0; i < kPaths; ++i) {
      if (!kinds_[i] || done[i]) continue;
      const auto kind = static_cast<PathKind>(i);
      if (together && family_of(kind).empty()) continue;
      const Kinds changed = together ? family(kind) : only(kind);
      done |= changed;
      double least = cost(now, held, changed, together);
      for (const auto constant : kFitted)
        for (const double factor : {step, 1 / step}) {
          const Calibration before = now;
          for (std::size_t each = 0; each < kPaths; ++each)
            if (changed[each]) now.paths[each].*constant *= factor;
          const double tried = cost(now, held, changed, together);
          if (tried < least - 1e-9) {
            least = tried;
            better = true;
          } else {
            now = before;
          }
        }
    }
    return better;
  }

  Kinds kinds_;
  std::span<const double> steps_;
  std::vector<Row> rows_;
};

Kinds all_kinds() { return Kinds{}.set(); }

// Returns `now` with the constants of `kinds` fitted anew from `start`, without the rows of a cluster.
Calibration fit_families(const std::vector<MeasuredTime>& times, Calibration now, const Calibration& start,
                         const Kinds& kinds, const std::string& without = {}) {
  for (std::size_t i = 0; i < kPaths; ++i)
    if (kinds[i]) now.paths[i] = start.paths[i];
  const Fit fit(times, kinds, kOfMany, without);
  fit.minimize(now, true);
  fit.minimize(now);
  return now;
}

// The assumed spread counts as one more cluster.
constexpr double kAssumedSources = 1;

// Returns the spread of a path for a range of sizes: 80 % of the residuals of its unseen rows are within the
// band. The rows of `without` do not count.
double spread_of(const std::vector<MeasuredTime>& times, const std::vector<UnseenTime>& unseen, PathKind path,
                 std::size_t range, double assumed, const std::string& without = {}) {
  std::vector<double> residuals;
  std::set<std::string> sources;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (unseen[i].path != path || size_range(times[i].bytes) != range || times[i].id == without) continue;
    residuals.push_back(std::abs(unseen[i].residual));
    sources.insert(times[i].id);
  }
  if (residuals.empty()) return assumed;
  const auto at =
      residuals.begin() + static_cast<std::ptrdiff_t>(.8 * static_cast<double>(residuals.size() - 1) + .5);
  std::ranges::nth_element(residuals, at);
  const double count = static_cast<double>(sources.size());
  const double seen = *at / kTenToNinety;
  return (kAssumedSources * assumed + count * seen) / (kAssumedSources + count);
}

void set_spread(PathConstants& constants, const std::vector<double>& assumed,
                const std::vector<std::vector<double>>& residuals) {
  for (std::size_t range = 0; range < residuals.size(); ++range) {
    double squares = kAssumedRows * assumed[range] * assumed[range];
    for (const double residual : residuals[range]) squares += residual * residual;
    constants.spread[range] =
        std::sqrt(squares / (kAssumedRows + static_cast<double>(residuals[range].size())));
  }
}

}  // namespace

double residual_of(const MeasuredTime& time, const Calibration& calibration) {
  return std::log(time.time /
                  forecast_collective(time.shape, time.operation, time.bytes, calibration, time.choice).time);
}

Calibration fit_calibration(const std::vector<MeasuredTime>& times, const Calibration& start,
                            const std::string& from) {
  Calibration fitted = start;
  Fit(times, all_kinds(), kOfFew).minimize(fitted);
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

SourcesFit fit_sources(const std::vector<MeasuredTime>& times, const Calibration& start) {
  SourcesFit made{fit_families(times, start, start, all_kinds()), std::vector<UnseenTime>(times.size())};
  std::map<std::string, std::vector<std::size_t>> sources;
  for (std::size_t i = 0; i < times.size(); ++i) sources[times[i].id].push_back(i);
  for (const auto& [id, rows] : sources) {
    Kinds kinds;
    for (const std::size_t row : rows) kinds |= touched_by(times[row]);
    for (std::size_t i = 0; i < kPaths; ++i)
      if (kinds[i]) kinds |= family(static_cast<PathKind>(i));
    const Calibration without = fit_families(times, made.calibration, start, kinds, id);
    for (const std::size_t row : rows) {
      const MeasuredTime& time = times[row];
      made.unseen[row].residual = residual_of(time, without);
      made.unseen[row].path =
          forecast_collective(time.shape, time.operation, time.bytes, without, time.choice).path;
    }
  }
  for (PathConstants& constants : made.calibration.paths) {
    std::set<std::string> ids;
    for (const MeasuredTime& time : times) {
      const Forecast forecast =
          forecast_collective(time.shape, time.operation, time.bytes, made.calibration, time.choice);
      if (forecast.path != constants.path && forecast.bound != constants.path) continue;
      ++constants.rows;
      ids.insert(time.id);
    }
    constants.sources = static_cast<int>(ids.size());
    for (std::size_t range = 0; range < constants.spread.size(); ++range)
      constants.spread[range] =
          spread_of(times, made.unseen, constants.path, range, start.of(constants.path).spread[range]);
  }
  for (PathConstants& constants : made.calibration.paths)
    constants.from = origin_of(constants.path, made.calibration);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t range = size_range(times[i].bytes);
    made.unseen[i].spread = spread_of(times, made.unseen, made.unseen[i].path, range,
                                      start.of(made.unseen[i].path).spread[range], times[i].id);
  }
  return made;
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
    for (auto& [bytes, ratios] : sizes) curve.points.push_back({bytes, median_of(ratios)});
    if (is_sound(curve)) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace railbed

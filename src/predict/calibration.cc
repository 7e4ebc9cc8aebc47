#include "predict/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"

namespace railbed {
namespace {

constexpr std::size_t kMostCurves = 1000;

struct Shipped {
  PathKind path;
  double efficiency, start, ramp;
  std::array<double, 3> spread;
  int rows;
};
// The result of fit_calibration() for the calibration half of tests/predict/published.json; predict_test
// checks it.
constexpr Shipped kShipped[] = {
    {PathKind::kPcie, 0.9, 1.2, 0.3, {0.5, 0.4, 0.25}, 0},
    {PathKind::kOldPcie, 0.5998, 1.176, 0.1, {0.387, 0.303, 0.25}, 6},
    {PathKind::kHostMemory, 0.45, 2, 1, {0.5, 0.4, 0.25}, 0},
    {PathKind::kNvlink, 0.9823, 1.05, 3, {0.161, 0.121, 0.0907}, 143},
    {PathKind::kNvls, 0.9217, 1, 2, {0.5, 0.246, 0.126}, 24},
    {PathKind::kNvlsTree, 0.783, 2.5, 3, {0.5, 0.4, 0.25}, 13},
    {PathKind::kInfiniband, 0.95, 2.5, 2.5, {0.5, 0.293, 0.288}, 12},
    {PathKind::kRoce, 0.9109, 2.5, 2.5, {0.5, 0.4, 0.137}, 13},
    {PathKind::kEfa, 0.8713, 1.1, 2.5, {0.5, 0.4, 0.224}, 1},
    {PathKind::kLibfabric, 0.9751, 3.636, 2.5, {0.356, 0.298, 0.167}, 17},
    {PathKind::kTcp, 0.8, 5, 4, {0.5, 0.4, 0.25}, 0},
};

PathConstants assumed(PathKind path, double efficiency, double start, double ramp) {
  PathConstants made;
  made.path = path;
  made.efficiency = efficiency;
  made.start = start;
  made.ramp = ramp;
  made.from = "assumed";
  return made;
}

bool is_sound(const PathConstants& constants) {
  const auto sane = [](double value) { return std::isfinite(value) && value > 1e-3 && value < 1e3; };
  return sane(constants.efficiency) && sane(constants.start) && std::isfinite(constants.ramp) &&
         constants.ramp >= 0 && constants.ramp < 1e4 && constants.spread.size() == 3 &&
         std::ranges::all_of(constants.spread, [](double value) { return value >= 0 && value < 5; });
}

}  // namespace

std::size_t size_range(std::uint64_t bytes) {
  return bytes < (std::uint64_t{1} << 20) ? 0 : bytes < (std::uint64_t{256} << 20) ? 1 : 2;
}

// Our estimates for such paths, each to be replaced by measurements.
Calibration assumed_calibration() {
  return {.model = kForecastModel,
          .paths =
              {
                  assumed(PathKind::kPcie, .9, 1.2, .3),
                  assumed(PathKind::kOldPcie, .7, 1.2, .1),
                  assumed(PathKind::kHostMemory, .45, 2, 1),
                  assumed(PathKind::kNvlink, 1.03, 1, 3),
                  assumed(PathKind::kNvls, .94, 1, 2),
                  assumed(PathKind::kNvlsTree, .87, 2.5, 3),
                  assumed(PathKind::kInfiniband, .95, 2.5, 2.5),
                  assumed(PathKind::kRoce, .92, 2.5, 2.5),
                  assumed(PathKind::kEfa, .88, 1.1, 2.5),
                  assumed(PathKind::kLibfabric, .93, 3, 2.5),
                  assumed(PathKind::kTcp, .8, 5, 4),
              },
          .curves = {}};
}

const Calibration& shipped_calibration() {
  static const Calibration calibration = [] {
    Calibration made = assumed_calibration();
    for (const Shipped& row : kShipped) {
      if (row.rows == 0) continue;
      PathConstants& constants = made.paths[static_cast<std::size_t>(row.path)];
      constants = {
          row.path, row.efficiency,          row.start, row.ramp, {row.spread.begin(), row.spread.end()},
          row.rows, "published measurements"};
    }
    return made;
  }();
  return calibration;
}

Result<Calibration> calibration_from_json(std::string_view text, std::string_view file) {
  auto read = json::read<Calibration>(text);
  if (!read) return fail(std::move(read.error()), file);
  if (read->model != kForecastModel)
    return fail(ErrorKind::kBadInput,
                fmt::format("{}: another version of railbed wrote it, whose constants meant something "
                            "else; railbed predict --calibrate RUN -o FILE writes it anew",
                            file));
  Calibration calibration = shipped_calibration();
  for (PathConstants& constants : read->paths) {
    if (!is_sound(constants))
      return fail(ErrorKind::kBadInput, fmt::format("{}: constants of {} are out of range; railbed predict "
                                                    "--calibrate RUN -o FILE writes such a file",
                                                    file, to_text(constants.path)));
    calibration.paths[static_cast<std::size_t>(constants.path)] = std::move(constants);
  }
  for (const MeasuredCurve& curve : read->curves)
    if (!is_sound(curve) || read->curves.size() > kMostCurves)
      return fail(ErrorKind::kBadInput, fmt::format("{}: a curve of {} is out of range; railbed predict "
                                                    "--calibrate RUN -o FILE writes such a file",
                                                    file, to_text(curve.of.operation)));
  calibration.curves = std::move(read->curves);
  return calibration;
}

}  // namespace railbed

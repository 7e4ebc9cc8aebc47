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
  int sources;
};
// The result of fit_sources() for tests/predict/published.json; predict_test checks it.
constexpr Shipped kShipped[] = {
    {PathKind::kPcie, 0.9627, 1.2, 0.3, {0.393, 0.256, 0.25}, 13, 1},
    {PathKind::kOldPcie, 0.6178, 1.2, 0.1, {0.389, 0.265, 0.25}, 6, 1},
    {PathKind::kHostMemory, 0.4625, 2, 1, {0.5, 0.4, 0.291}, 3, 1},
    {PathKind::kNvlink, 0.9726, 1.1, 3, {0.283, 0.145, 0.0629}, 273, 18},
    {PathKind::kNvls, 0.9217, 1, 2, {0.5, 0.105, 0.0647}, 77, 9},
    {PathKind::kNvlsTree, 0.9763, 2.5, 3, {0.5, 0.4, 0.25}, 107, 14},
    {PathKind::kInfiniband, 0.95, 1.313, 2.402, {0.318, 0.243, 0.153}, 198, 15},
    {PathKind::kRoce, 0.9664, 1.574, 1.387, {0.262, 0.159, 0.129}, 72, 13},
    {PathKind::kEfa, 0.9067, 2.188, 2.5, {0.331, 0.4, 0.122}, 6, 3},
    {PathKind::kEfaV1, 0.8713, 4.649, 2.5, {0.543, 0.4, 0.13}, 5, 2},
    {PathKind::kSlingshot, 0.93, 5.908, 2.5, {0.5, 0.363, 0.148}, 19, 2},
    {PathKind::kTcpxo, 0.93, 4.869, 2.5, {0.391, 0.403, 0.1}, 42, 4},
    {PathKind::kLibfabric, 0.93, 5.908, 2.5, {0.5, 0.4, 0.25}, 0, 0},
    {PathKind::kTcp, 0.8, 5, 4, {0.5, 0.4, 0.25}, 0, 0},
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

std::span<const PathKind> family_of(PathKind kind) {
  static constexpr PathKind kRdma[] = {PathKind::kInfiniband, PathKind::kRoce};
  static constexpr PathKind kPlugins[] = {PathKind::kEfa, PathKind::kEfaV1, PathKind::kSlingshot,
                                          PathKind::kTcpxo, PathKind::kLibfabric};
  for (const std::span<const PathKind> family :
       {std::span<const PathKind>(kRdma), std::span<const PathKind>(kPlugins)})
    if (std::ranges::find(family, kind) != family.end()) return family;
  return {};
}

std::string origin_of(PathKind kind, const Calibration& calibration) {
  const int sources = calibration.of(kind).sources;
  if (sources > 0) return fmt::format("fitted ({} source{})", sources, sources == 1 ? "" : "s");
  std::string family;
  for (const PathKind each : family_of(kind))
    if (calibration.of(each).sources > 0)
      family += fmt::format("{}{}", family.empty() ? "" : ", ", to_text(each));
  return family.empty() ? "assumed" : "assumed, after " + family;
}

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
                  assumed(PathKind::kEfaV1, .88, 1.1, 2.5),
                  assumed(PathKind::kSlingshot, .93, 3, 2.5),
                  assumed(PathKind::kTcpxo, .93, 3, 2.5),
                  assumed(PathKind::kLibfabric, .93, 3, 2.5),
                  assumed(PathKind::kTcp, .8, 5, 4),
              },
          .curves = {}};
}

const Calibration& shipped_calibration() {
  static const Calibration calibration = [] {
    Calibration made = assumed_calibration();
    for (const Shipped& row : kShipped) {
      PathConstants& constants = made.paths[static_cast<std::size_t>(row.path)];
      constants.efficiency = row.efficiency;
      constants.start = row.start;
      constants.ramp = row.ramp;
      constants.spread = {row.spread.begin(), row.spread.end()};
      constants.rows = row.rows;
      constants.sources = row.sources;
    }
    for (PathConstants& constants : made.paths) constants.from = origin_of(constants.path, made);
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

// The free constants of the forecast's model, fitted to measurements: three for each class of path, the
// spread between measured and forecast times, and the remaining error on a cluster that was measured itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "predict/measured_curve.h"

namespace railbed {

// The path that determines a collective's time: the network, or the links between the GPUs of one node.
enum class PathKind {
  kPcie,
  kOldPcie,  // Gen3, through the processor
  kHostMemory,
  kNvlink,
  kNvls,
  kNvlsTree,
  kInfiniband,
  kRoce,
  kEfa,
  kEfaV1,
  kSlingshot,
  kTcpxo,
  kLibfabric,
  kTcp,
};
constexpr auto enum_names(PathKind) {
  return std::array<std::string_view, 14>{"pcie",      "pcie-gen3",  "host-memory", "nvlink", "nvls",
                                          "nvls-tree", "infiniband", "roce",        "efa",    "efa-v1",
                                          "slingshot", "tcpxo",      "libfabric",   "tcp"};
}
constexpr std::string_view to_text(PathKind kind) { return enum_names(kind)[static_cast<std::size_t>(kind)]; }

// Standard deviations on each side that include 80 %.
inline constexpr double kTenToNinety = 1.2816;

struct PathConstants {
  PathKind path = PathKind::kPcie;
  double efficiency = 1;  // β: share of the binding limit that large sizes reach
  // α, for small sizes: over NVLink a factor of every start in nvlink_time.h, elsewhere of NCCL's own latency
  // of LL.
  double start = 1;
  // Added between small and large sizes: within a node a factor of the time of one chunk per channel, between
  // nodes of NCCL's own latency of Simple.
  double ramp = 1;
  // Spread of ln(measured / forecast) for small, middle and large sizes (below 1 MiB, from 256 MiB on).
  std::vector<double> spread{.5, .4, .25};
  int rows = 0;     // number of rows that it was fitted to; 0: assumed
  int sources = 0;  // number of clusters that these rows are from; 0: not known, or assumed
  // "fitted (5 sources)", "assumed, as for infiniband and roce", "run 12", "assumed"
  std::string from;
  FIELDS(PathConstants, path, efficiency, start, ramp, spread, rows, sources, from);
};

// The version of the constants' meaning; a file of another version is refused. In version 2 the constants of
// NVLink belong to nvlink_time.h; in version 3 the ramp between nodes is gradual.
inline constexpr int kForecastModel = 3;

struct Calibration {
  int model = 1;                      // the default for a file without it
  std::vector<PathConstants> paths;   // one for each kind, in their order
  std::vector<MeasuredCurve> curves;  // of the clusters that were fitted here; may be empty
  const PathConstants& of(PathKind kind) const { return paths[static_cast<std::size_t>(kind)]; }
  FIELDS(Calibration, model, paths, curves);
};

// Returns constants without any measurement, from data sheets and NCCL's sources.
Calibration assumed_calibration();
// Returns the built-in constants, fitted to published measurements (docs/reference/predict-accuracy.md).
const Calibration& shipped_calibration();

// Parses a file of `railbed predict --calibrate`. Paths that it does not have keep the built-in constants.
// Constants that could make a forecast infinite are refused. `file` is named in errors.
Result<Calibration> calibration_from_json(std::string_view text, std::string_view file);

// Kinds of networks that behave alike: one without measurements takes the constants of its family, and one
// with few stays near them. Kinds of no family stand alone.
std::span<const PathKind> family_of(PathKind kind);
// Returns where the constants of a fit to published measurements are from: "fitted (5 sources)", "assumed, after
// infiniband", "assumed".
std::string origin_of(PathKind kind, const Calibration& calibration);

// Returns 0, 1 or 2 for a small, middle or large size.
std::size_t size_range(std::uint64_t bytes);

}  // namespace railbed

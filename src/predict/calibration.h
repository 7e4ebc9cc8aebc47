// What measurements say of the model's free constants: three for each class of path, how far measured and
// forecast times lay apart, and what the constants leave on a cluster that was measured itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "predict/measured_curve.h"

namespace railbed {

// What decides a collective's time: the network, or what joins the GPUs of one node.
enum class PathKind {
  kPcie,
  kOldPcie,  // of Gen3, through the processor
  kHostMemory,
  kNvlink,
  kNvls,
  kNvlsTree,
  kInfiniband,
  kRoce,
  kEfa,
  kLibfabric,
  kTcp,
};
constexpr auto enum_names(PathKind) {
  return std::array<std::string_view, 11>{"pcie", "pcie-gen3", "host-memory", "nvlink",
                                          "nvls", "nvls-tree", "infiniband",  "roce",
                                          "efa",  "libfabric", "tcp"};
}
constexpr std::string_view to_text(PathKind kind) { return enum_names(kind)[static_cast<std::size_t>(kind)]; }

struct PathConstants {
  PathKind path = PathKind::kPcie;
  double efficiency = 1;  // β: of the binding limit, for large sizes
  // α, for small sizes: over NVLink times every start of nvlink_time.h, else times NCCL's own latency of LL.
  double start = 1;
  // Added between small and large sizes: within a node times what a chunk of every channel takes, between
  // nodes times NCCL's own latency of Simple.
  double ramp = 1;
  // Spread of ln(measured / forecast) of small, middle and large sizes (below 1 MiB, from 256 MiB on).
  std::vector<double> spread{.5, .4, .25};
  int rows = 0;      // that it was fitted to; 0: assumed
  std::string from;  // "published measurements", "run 12", "assumed"
  FIELDS(PathConstants, path, efficiency, start, ramp, spread, rows, from);
};

// What the constants mean; a file of another model is refused. 2: over NVLink they belong to nvlink_time.h.
inline constexpr int kForecastModel = 2;

struct Calibration {
  int model = 1;                      // of a file that does not say
  std::vector<PathConstants> paths;   // one for each kind, in their order
  std::vector<MeasuredCurve> curves;  // of the clusters that the constants were fitted on here; may be empty
  const PathConstants& of(PathKind kind) const { return paths[static_cast<std::size_t>(kind)]; }
  FIELDS(Calibration, model, paths, curves);
};

// Before any measurement: what data sheets and NCCL's sources suggest.
Calibration assumed_calibration();
// Fitted to one half of the published measurements (docs/reference/predict-accuracy.md).
const Calibration& shipped_calibration();

// What `railbed predict --calibrate` wrote, over the shipped constants; `file` is named in errors. Constants
// that would make a forecast endless are refused.
Result<Calibration> calibration_from_json(std::string_view text, std::string_view file);

// 0, 1 or 2: small, middle, large.
std::size_t size_range(std::uint64_t bytes);

}  // namespace railbed

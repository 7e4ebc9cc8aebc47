// The remaining error of a path's constants for one operation on one cluster, size by size: dips where NCCL
// changes its protocol, or an operation that this cluster does better than others. It is learned from the
// cluster's own runs and is valid for that cluster only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "results/collective.h"

namespace railbed {

struct CurvePoint {
  std::uint64_t bytes = 0;
  double ratio = 1;  // measured ÷ forecast time
  FIELDS(CurvePoint, bytes, ratio);
};

// The operation and cluster of a measurement. A curve applies to no other.
struct CurveSubject {
  std::string gpu;
  int nodes = 1;
  int gpus = 1;  // per node
  Collective operation = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  bool from_graph = false;
  auto operator<=>(const CurveSubject&) const = default;
  FIELDS(CurveSubject, gpu, nodes, gpus, operation, type, from_graph);
};

struct MeasuredCurve {
  CurveSubject of;
  std::vector<CurvePoint> points;  // in ascending order of size
  FIELDS(MeasuredCurve, of, points);
};

// Returns whether sizes ascend and ratios are plausible.
bool is_sound(const MeasuredCurve& curve);

// Returns measured / forecast time for a size: interpolated between the logarithms of two measured sizes, or
// the value of the nearest one beyond them; 1 if there is no such curve.
double measured_ratio(const std::vector<MeasuredCurve>& curves, const CurveSubject& of, std::uint64_t bytes);

}  // namespace railbed

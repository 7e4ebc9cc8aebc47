// What the constants of a path leave of one operation on one cluster, size by size: dips where NCCL changes
// its protocol, an operation that this cluster does better than others do. Learnt from the cluster's own
// runs, it holds for that cluster alone.
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

// What was measured, and on what: a curve tells of nothing else.
struct CurveSubject {
  std::string gpu;
  int nodes = 1;
  int gpus = 1;  // of a node
  Collective operation = Collective::kAllReduce;
  DataType type = DataType::kFloat32;
  bool from_graph = false;
  auto operator<=>(const CurveSubject&) const = default;
  FIELDS(CurveSubject, gpu, nodes, gpus, operation, type, from_graph);
};

struct MeasuredCurve {
  CurveSubject of;
  std::vector<CurvePoint> points;  // by size
  FIELDS(MeasuredCurve, of, points);
};

// Sizes that rise, ratios that a machine could give.
bool is_sound(const MeasuredCurve& curve);

// For a size between two that were measured the way between their logarithms, beyond them the nearest; 1
// where nothing was measured of it.
double measured_ratio(const std::vector<MeasuredCurve>& curves, const CurveSubject& of, std::uint64_t bytes);

}  // namespace railbed

// Forecasts the time of a collective, as it would be measured, from the limits of the hardware and a few
// constants fitted to measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "predict/calibration.h"
#include "predict/cluster_shape.h"
#include "predict/nccl_tuning.h"
#include "results/collective.h"
#include "results/measurement.h"

namespace railbed {

// A part of the time and the source of its figure. The parts add up.
struct ForecastPart {
  std::string name;
  Nanoseconds time{};
  std::string source;
  FIELDS(ForecastPart, name, time, source);
};

// Times are nanoseconds, rates bits per second, as in CollectiveRow. The band holds the middle 80 % of
// measurements elsewhere on such paths.
struct Forecast {
  std::uint64_t bytes = 0;
  double time = 0, time_low = 0, time_high = 0;
  double algbw = 0;
  double busbw = 0, busbw_low = 0, busbw_high = 0;
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;  // NCCL's choice for this size
  NcclProtocol protocol = NcclProtocol::kSimple;
  Limit limit;  // the binding limit of busbw for large sizes; its rate is the part that is reached
  PathKind path = PathKind::kNvlink;   // the path whose latencies apply
  PathKind bound = PathKind::kNvlink;  // the path whose efficiency applies to the limit
  std::string basis;                   // "fitted (16 sources)", "assumed", "run 12"
  std::vector<ForecastPart> parts;
  FIELDS(Forecast, bytes, time, time_low, time_high, algbw, busbw, busbw_low, busbw_high, algorithm, protocol,
         limit, path, bound, basis, parts);
};

struct ForecastChoice {
  std::optional<NcclAlgorithm> algorithm;  // NCCL_ALGO; none: NCCL chooses
  DataType type = DataType::kFloat32;
  bool from_graph = false;  // replayed from a CUDA graph, without the time to launch
  // Each GPU has its own process or thread that launches, as with torchrun and railbed. If false, one
  // launches for all in turn, as nccl-tests does without MPI.
  bool launched_apart = false;
};

// Returns the key of the curve that applies to such a collective.
CurveSubject curve_subject(const ClusterShape& shape, Collective operation, const ForecastChoice& choice);

// Returns the forecast. `bytes` is the data of all ranks together, as nccl-tests counts it. Without bytes or
// with one rank the forecast has no time. Pure, and fast for any number of GPUs.
Forecast forecast_collective(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration = shipped_calibration(),
                             const ForecastChoice& choice = {});

// Returns the input of NCCL's tuning model on this cluster.
TunedCommunicator tuned_for(const ClusterShape& shape, const ForecastChoice& choice = {});

}  // namespace railbed

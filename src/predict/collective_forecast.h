// How long a collective will take, as it would be measured: from the limits of the hardware and a few
// constants that measurements gave.
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

// A part of the time and where its figure comes from; parts add up.
struct ForecastPart {
  std::string name;
  Nanoseconds time{};
  std::string source;
  FIELDS(ForecastPart, name, time, source);
};

// Times are nanoseconds, rates bits per second, as in CollectiveRow. The band holds the middle 80 % of what
// was measured elsewhere on such paths.
struct Forecast {
  std::uint64_t bytes = 0;
  double time = 0, time_low = 0, time_high = 0;
  double algbw = 0;
  double busbw = 0, busbw_low = 0, busbw_high = 0;
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;  // that NCCL would choose for this size
  NcclProtocol protocol = NcclProtocol::kSimple;
  Limit limit;  // of busbw for large sizes, that binds; its rate is what is reached of it
  PathKind path = PathKind::kNvlink;   // whose latencies it has
  PathKind bound = PathKind::kNvlink;  // whose efficiency the limit has
  std::string basis;                   // "published measurements", "assumed", "run 12"
  std::vector<ForecastPart> parts;
  FIELDS(Forecast, bytes, time, time_low, time_high, algbw, busbw, busbw_low, busbw_high, algorithm, protocol,
         limit, path, bound, basis, parts);
};

struct ForecastChoice {
  std::optional<NcclAlgorithm> algorithm;  // NCCL_ALGO; nothing: NCCL chooses
  DataType type = DataType::kFloat32;
  bool from_graph = false;  // replayed from a CUDA graph: the launching is left out
  // A process or thread launches for each GPU, as torchrun and railbed do it, not one for all in turn as
  // nccl-tests does without MPI.
  bool launched_apart = false;
};

// Which curve of a calibration tells of it.
CurveSubject curve_subject(const ClusterShape& shape, Collective operation, const ForecastChoice& choice);

// Pure, and quick for any number of GPUs. `bytes` of all ranks' data together, as nccl-tests counts.
Forecast forecast_collective(const ClusterShape& shape, Collective operation, std::uint64_t bytes,
                             const Calibration& calibration = shipped_calibration(),
                             const ForecastChoice& choice = {});

// What NCCL would be tuned for on this cluster.
TunedCommunicator tuned_for(const ClusterShape& shape, const ForecastChoice& choice = {});

}  // namespace railbed

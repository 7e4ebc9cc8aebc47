// How long a collective takes among GPUs that one NVLink network joins, in the protocol that NCCL chooses for
// its size.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "predict/calibration.h"
#include "predict/nccl_tuning.h"
#include "results/collective.h"

namespace railbed {

// Microseconds that add up.
struct NvlinkTime {
  double start = 0;     // until data flows
  double ramp = 0;      // what chunks of the whole buffer add
  double transfer = 0;  // of the bytes, at the protocol's rate
  double sum() const { return start + ramp + transfer; }
};

struct NvlinkRates {
  BitRate reached;  // of busbw, by large sizes
  BitRate link;     // of a GPU to all others
};
// By the algorithm and protocol of `chosen`, over all `ranks`.
NvlinkTime nvlink_time(Collective operation, int ranks, std::uint64_t bytes, const TuningEstimate& chosen,
                       const PathConstants& constants, const NvlinkRates& rates);

// What a processor takes to launch it on `gpus` GPUs, in turn or each by a thread of its own; operations that
// follow each other take this time or that of the GPUs, whichever is longer.
double launch_time(Collective operation, int gpus, bool apart);
// The longer of both, or a little more where they are alike.
double launched_time(double on_gpus, double launching);

}  // namespace railbed

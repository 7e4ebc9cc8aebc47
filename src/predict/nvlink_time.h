// The time of a collective among GPUs in one NVLink network, with the protocol that NCCL chooses for its
// size.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "predict/calibration.h"
#include "predict/nccl_tuning.h"
#include "results/collective.h"

namespace railbed {

// Parts of the time in microseconds. They add up.
struct NvlinkTime {
  double start = 0;     // until data flows
  double ramp = 0;      // additional time for whole chunks of the buffer
  double transfer = 0;  // time of the bytes at the protocol's rate
  double sum() const { return start + ramp + transfer; }
};

struct NvlinkRates {
  BitRate reached;  // busbw that large sizes reach
  BitRate link;     // from a GPU to all others
};
// Returns the time over all `ranks` with the algorithm and protocol of `chosen`.
NvlinkTime nvlink_time(Collective operation, int ranks, std::uint64_t bytes, const TuningEstimate& chosen,
                       const PathConstants& constants, const NvlinkRates& rates);

// Returns the µs that a processor needs to launch the operation on `gpus` GPUs, in turn or (`apart`) each by
// its own thread. Consecutive operations take this time or that of the GPUs, whichever is longer.
double launch_time(Collective operation, int gpus, bool apart);
// Returns the longer of both times, or a little more if they are similar.
double launched_time(double on_gpus, double launching);

}  // namespace railbed

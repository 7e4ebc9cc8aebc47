// The two kinds of rehearsal, for rehearse.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/train/measure_gpu_train.h"
#include "campaign/look/survey.h"
#include "campaign/measure/rehearse.h"
#include "model/trained_models.h"

namespace railbed {

// Rehearsals that run one after the other, as often as requested.
using Rehearsals = std::vector<std::function<TrainReport()>>;

// Returns the nodes that show no GPU with a working driver.
std::vector<std::string> nodes_without_gpus(const Surveyed& surveyed);

// The arguments must outlive the rehearsals.
Rehearsals rehearsals_on_gpus(const TrainChoice& choice, const Model& model,
                              const std::vector<GpuNodeEnd>& nodes, const Surveyed& surveyed,
                              const Caller& caller);
// `ends` are the ranks in the order of the ring. The arguments must outlive the rehearsals. Fails if a
// requested transport is not available on every end, or if none is.
Result<Rehearsals> rehearsals_in_host_buffers(const TrainChoice& choice, const Model& model,
                                              const std::vector<PairEnd>& ends, const Caller& caller);

}  // namespace railbed

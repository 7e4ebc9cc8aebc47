// The two kinds of rehearsal, for rehearse.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/train/measure_gpu_train.h"
#include "campaign/rehearse.h"
#include "campaign/survey.h"
#include "model/trained_models.h"

namespace railbed {

// One after the other, as often as asked for.
using Rehearsals = std::vector<std::function<TrainReport()>>;

// The nodes of which no GPU with a working driver is known.
std::vector<std::string> nodes_without_gpus(const Surveyed& surveyed);

// All that is given must outlive the rehearsals.
Rehearsals rehearsals_on_gpus(const TrainChoice& choice, const Model& model,
                              const std::vector<GpuNodeEnd>& nodes, const Surveyed& surveyed,
                              const Caller& caller);
// `ends`: the ranks in the order of the ring.
Result<Rehearsals> rehearsals_in_host_buffers(const TrainChoice& choice, const Model& model,
                                              const std::vector<PairEnd>& ends, const Caller& caller);

}  // namespace railbed

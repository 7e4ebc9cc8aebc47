// What libibverbs, perftest, UCX, libfabric and NVSHMEM print when something is wrong, and why.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose {

std::span<const Symptom> rdma_symptoms() { return {}; }

std::span<const Hypothesis> rdma_hypotheses() { return {}; }

}  // namespace railbed::diagnose

// What CUDA, NVML and the container runtimes print when something is wrong, and why.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose {

std::span<const Symptom> driver_symptoms() { return {}; }

std::span<const Hypothesis> driver_hypotheses() { return {}; }

}  // namespace railbed::diagnose

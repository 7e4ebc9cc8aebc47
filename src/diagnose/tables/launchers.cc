// What Slurm, MPI's launchers, Ray, vLLM, SGLang and DeepSpeed print when something is wrong, and why.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose {

std::span<const Symptom> launcher_symptoms() { return {}; }

std::span<const Hypothesis> launcher_hypotheses() { return {}; }

}  // namespace railbed::diagnose

// Observations in what Slurm, MPI's launchers, Ray, vLLM, SGLang and DeepSpeed print that confirm or refute causes.
#include "diagnose/log/state.h"

namespace railbed::diagnose {

std::span<const Question> launcher_questions() { return {}; }

std::span<const Opposites> launcher_opposites() { return {}; }

}  // namespace railbed::diagnose

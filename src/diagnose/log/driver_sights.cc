// Observations in what CUDA, NVML and the container runtimes print that confirm or refute causes.
#include "diagnose/log/state.h"

namespace railbed::diagnose {

std::span<const Question> driver_questions() { return {}; }

std::span<const Opposites> driver_opposites() { return {}; }

}  // namespace railbed::diagnose
